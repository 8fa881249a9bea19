import { type Http, on } from '../../http/context.ts'
import { Frame, FrameQuery, Home, HomeQuery } from './schema.ts'
import { frame, home } from './service.ts'

export const homeRoutes = (http: Http) =>
  http
    .get('/api/home', ({ ctx, query }) => home(ctx, query), {
      ...on(home, 'Your open tasks, the tasks that are held now, and the activity of agents today'),
      query: HomeQuery,
      response: Home,
    })
    .get('/api/frame', ({ ctx, query }) => frame(ctx, query), {
      ...on(frame, 'Your account, teams and notification counts, and the projects of a team, in one call'),
      query: FrameQuery,
      response: Frame,
    })
