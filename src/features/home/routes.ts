import { type Http, on } from '../../http/context.ts'
import { listFavourites } from './favourites.ts'
import { Favourites, Frame, FrameQuery, Home, HomeQuery } from './schema.ts'
import { type FrameWithCursor, getFrame, getHome } from './service.ts'

/** The cursor is a header, because it differs with every call: in the body, the response could never be 304. */
function withCursor({ headers }: { headers: Record<string, unknown> }, { cursor, ...frame }: FrameWithCursor): Frame {
  headers['x-event-cursor'] = cursor
  return frame
}

export const homeRoutes = (http: Http) =>
  http
    .get('/api/home', ({ ctx, query }) => getHome(ctx, query), {
      ...on(getHome, 'Your open tasks, the tasks that are held now, and the activity of agents today'),
      query: HomeQuery,
      response: Home,
    })
    .get('/api/frame', async ({ ctx, query, set }) => withCursor(set, await getFrame(ctx, query)), {
      ...on(getFrame, 'Your account, teams, favourites, counts and projects; subscribe to events from X-Event-Cursor'),
      query: FrameQuery,
      response: Frame,
    })
    .get('/api/favourites', ({ ctx }) => listFavourites(ctx, {}), {
      ...on(listFavourites, 'List your favourites that exist and that you can see'),
      response: Favourites,
    })
