import { type Http, on } from '../../http/context.ts'
import { listFavourites } from './favourites.ts'
import { Favourites, Frame, FrameQuery, Home, HomeQuery } from './schema.ts'
import { getFrame, getHome } from './service.ts'

export const homeRoutes = (http: Http) =>
  http
    .get('/api/home', ({ ctx, query }) => getHome(ctx, query), {
      ...on(getHome, 'Your open tasks, the tasks that are held now, and the activity of agents today'),
      query: HomeQuery,
      response: Home,
    })
    .get('/api/frame', ({ ctx, query }) => getFrame(ctx, query), {
      ...on(getFrame, 'Your account, teams, favourites and counts, and the projects of a team, in one call'),
      query: FrameQuery,
      response: Frame,
    })
    .get('/api/favourites', ({ ctx }) => listFavourites(ctx, {}), {
      ...on(listFavourites, 'List your favourites that exist and that you can see'),
      response: Favourites,
    })
