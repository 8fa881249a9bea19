import { type Http, on } from '../../http/context.ts'
import { id, object } from '../../schema.ts'
import { Organization } from '../organizations/schema.ts'
import { User } from '../users/schema.ts'
import { extensionOf } from './images.ts'
import { PictureFile, SitePicture, Upload } from './schema.ts'
import * as uploads from './service.ts'
import { addForSite } from './site.ts'

export const uploadRoutes = (http: Http) =>
  http
    .post('/api/settings/avatar', ({ ctx, body }) => uploads.setAvatar(ctx, body), {
      ...on(uploads.setAvatar, 'Upload your avatar: PNG, JPEG, WebP or GIF of at most 1 MiB', {
        upload: uploads.AVATAR,
      }),
      body: Upload,
      response: User,
    })
    .delete('/api/settings/avatar', ({ ctx }) => uploads.clearAvatar(ctx, {}), {
      ...on(uploads.clearAvatar, 'Remove your avatar'),
      response: User,
    })
    .post('/api/settings/cover', ({ ctx, body }) => uploads.setCover(ctx, body), {
      ...on(uploads.setCover, 'Upload your cover picture: PNG, JPEG, WebP or GIF of at most 5 MiB', {
        upload: uploads.COVER,
      }),
      body: Upload,
      response: User,
    })
    .delete('/api/settings/cover', ({ ctx }) => uploads.clearCover(ctx, {}), {
      ...on(uploads.clearCover, 'Remove your cover picture'),
      response: User,
    })
    .post('/api/team/avatar', ({ ctx, body }) => uploads.setTeamAvatar(ctx, body), {
      ...on(uploads.setTeamAvatar, 'Upload the avatar of the current team: at most 1 MiB', { upload: uploads.AVATAR }),
      body: Upload,
      response: Organization,
    })
    .delete('/api/team/avatar', ({ ctx }) => uploads.clearTeamAvatar(ctx, {}), {
      ...on(uploads.clearTeamAvatar, 'Remove the avatar of the current team'),
      response: Organization,
    })
    .post(
      '/api/admin/uploads',
      async ({ ctx, body, set }) => {
        const added = await addForSite(ctx, body)
        set.status = 201
        set.headers.location = added.path
        return added
      },
      {
        ...on(addForSite, 'Upload a picture for the public site: at most 5 MiB', { upload: uploads.COVER }),
        body: Upload,
        response: { 201: SitePicture },
      },
    )
    .get(
      '/uploads/:id',
      async ({ ctx, params, request, set }) => {
        const tag = `"${params.id}"`
        const { type, bytes } = await uploads.get(ctx, {
          ...params,
          known: request.headers.get('if-none-match')?.includes(tag),
        })
        // The file comes from a user: it must not run scripts, be sniffed for another type or be used by other sites.
        Object.assign(set.headers, {
          'cache-control': 'public, max-age=31536000, immutable',
          'content-security-policy': "sandbox; default-src 'none'",
          'content-disposition': `inline; filename="${params.id}.${extensionOf(type)}"`,
          etag: tag,
          ...(bytes && { 'content-type': type }),
        })
        set.status = bytes ? 200 : 304
        return new Response(bytes, { status: set.status })
      },
      { ...on(uploads.get, 'Get an uploaded picture'), params: object({ id: id() }), response: PictureFile },
    )
