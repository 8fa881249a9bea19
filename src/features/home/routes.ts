import { type Http, on } from '../../http/context.ts'
import { Home, HomeQuery } from './schema.ts'
import { home } from './service.ts'

export const homeRoutes = (http: Http) =>
  http.get('/api/home', ({ ctx, query }) => home(ctx, query), {
    ...on(home, 'Your open tasks, who is at work now, and what agents did today'),
    query: HomeQuery,
    response: Home,
  })
