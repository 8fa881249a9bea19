import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { admin } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import { type Picture, readPicture } from './images.ts'
import type { SitePicture, Upload } from './schema.ts'
import { uploads } from './table.ts'

/** Uploads of one administrator in a minute. */
const PER_MINUTE = 30

const storeForSite = write('uploads.storeForSite', admin, async (ctx, picture: Picture): Promise<SitePicture> => {
  const { type, width, height } = picture
  const id = crypto.randomUUID()
  const bytes = sql`decode(${Buffer.from(picture.bytes).toString('base64')}, 'base64')`
  await ctx.db.insert(uploads).values({ id, purpose: 'site', type, width, height, bytes, createdAt: ctx.now })
  return { id, path: `/uploads/${id}`, type, width, height }
})

/** Stores a picture for the public site. Everyone who has its address can see it. */
export const addForSite = flow('uploads.addForSite', admin, async (ctx, { file }: Upload): Promise<SitePicture> => {
  await countAttempt(ctx.app.driver, `upload:${userIdOf(ctx.actor)}`, PER_MINUTE, 60, ctx.app.clock(), 'uploads')
  return storeForSite(ctx, readPicture(file))
})

export async function requireSitePicture(ctx: Ctx, id: string): Promise<void> {
  const found = await ctx.db.$count(uploads, and(eq(uploads.id, id), eq(uploads.purpose, 'site')))
  if (found === 0) throw notFound('upload', id)
}
