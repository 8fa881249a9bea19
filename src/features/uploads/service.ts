import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { Buckets, countAttempt, networkOf, tooManyError } from '../../auth/limits.ts'
import { account, anyone, byRow, type Rule } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import { updateVersioned } from '../../records/rows.ts'
import * as accounts from '../accounts/service.ts'
import { organizationUpdated } from '../organizations/events.ts'
import { planUsage } from '../organizations/hooks.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import type { Organization } from '../organizations/schema.ts'
import * as organizations from '../organizations/service.ts'
import { organizations as organizationsTable } from '../organizations/table.ts'
import { userUpdated } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { userColumns } from '../users/service.ts'
import { users } from '../users/table.ts'
import { type Picture, readPicture } from './images.ts'
import { PictureCache } from './picture-cache.ts'
import type { Upload } from './schema.ts'
import { uploads } from './table.ts'

/** Bytes. */
export const AVATAR = 1 << 20
export const COVER = 5 << 20
/** Uploads of one user in a minute: each one rewrites megabytes. */
const PER_MINUTE = 30

const ownUploadRule = account('account:write')
/** The role is checked before the body is read. */
const teamUploadRule: Rule = { ...byRow('organizations:write'), role: 'admin' }

/** Checks the picture outside the transaction, so that other transactions do not wait for it. */
async function inspect(ctx: Ctx, { file }: Upload): Promise<Picture> {
  await countAttempt(ctx.app.driver, `upload:${userIdOf(ctx.actor)}`, PER_MINUTE, 60, ctx.app.clock(), 'uploads')
  return readPicture(file)
}

type Owner = { userId: string; purpose: 'avatar' | 'cover' } | { organizationId: string; purpose: 'team_avatar' }

/**
 * Replaces the picture and returns the path of the new one. The caller has locked the owner's row, so that concurrent
 * uploads leave exactly one picture.
 */
async function replace(ctx: Ctx, owner: Owner, picture: Picture | null): Promise<string | null> {
  const whose = 'userId' in owner ? eq(uploads.userId, owner.userId) : eq(uploads.organizationId, owner.organizationId)
  await ctx.db.delete(uploads).where(and(whose, eq(uploads.purpose, owner.purpose)))
  if (!picture) return null
  if ('organizationId' in owner)
    await requirePlanRoom(ctx, owner.organizationId, 'storageMb', { more: picture.bytes.length / 2 ** 20 })
  const { type, width, height } = picture
  const id = crypto.randomUUID()
  const bytes = sql`decode(${Buffer.from(picture.bytes).toString('base64')}, 'base64')`
  await ctx.db.insert(uploads).values({ id, ...owner, type, width, height, bytes, createdAt: ctx.now })
  return `/uploads/${id}`
}

/** Counts the picture of a team in units of 2^20 bytes. */
export const countPictures = planUsage.handle(async (ctx, { organizationId, limit }) => {
  if (limit !== 'storageMb') return 0
  const [used] = await ctx.db
    .select({ bytes: sql<string>`coalesce(sum(octet_length(${uploads.bytes})), 0)` })
    .from(uploads)
    .where(eq(uploads.organizationId, organizationId))
  return Number(used?.bytes) / 2 ** 20
})

// ---- pictures of a user

const putOwn =
  (purpose: 'avatar' | 'cover') =>
  async (ctx: Ctx, picture: Picture | null): Promise<User> => {
    const userId = userIdOf(ctx.actor)
    await ctx.db.select({ id: users.id }).from(users).where(eq(users.id, userId)).for('update')
    const before = await accounts.me(ctx, {})
    checkVersion(ctx, before)
    const url = await replace(ctx, { userId, purpose }, picture)
    const user = await updateVersioned(ctx, users, {
      columns: userColumns,
      before,
      set: purpose === 'avatar' ? { avatarUrl: url } : { coverUrl: url },
      what: 'your profile',
      again: () => accounts.me(ctx, {}),
    })
    ctx.emit(userUpdated, { subjectId: userId, userId, data: { fields: [`${purpose}Url`] } })
    return user
  }

const putAvatar = write('uploads.putAvatar', ownUploadRule, putOwn('avatar'), { versioned: true })
const putCover = write('uploads.putCover', ownUploadRule, putOwn('cover'), { versioned: true })

export const setAvatar = flow(
  'uploads.setAvatar',
  ownUploadRule,
  async (ctx, input: Upload): Promise<User> => putAvatar(ctx, await inspect(ctx, input)),
  { versioned: true },
)
export const setCover = flow(
  'uploads.setCover',
  ownUploadRule,
  async (ctx, input: Upload): Promise<User> => putCover(ctx, await inspect(ctx, input)),
  {
    versioned: true,
  },
)
export const clearAvatar = write(
  'uploads.clearAvatar',
  ownUploadRule,
  (ctx, _: Record<string, never>): Promise<User> => putAvatar(ctx, null),
  {
    versioned: true,
  },
)
export const clearCover = write(
  'uploads.clearCover',
  ownUploadRule,
  (ctx, _: Record<string, never>): Promise<User> => putCover(ctx, null),
  {
    versioned: true,
  },
)

// ---- pictures of a team

const putTeamAvatar = write(
  'uploads.putTeamAvatar',
  teamUploadRule,
  async (ctx, picture: Picture | null): Promise<Organization> => {
    const id = currentOrganization(ctx.actor)
    await ctx.db
      .select({ id: organizationsTable.id })
      .from(organizationsTable)
      .where(eq(organizationsTable.id, id))
      .for('update')
    const before = await organizations.get(ctx, { id })
    checkVersion(ctx, before)
    const avatarUrl = await replace(ctx, { organizationId: id, purpose: 'team_avatar' }, picture)
    await updateVersioned(ctx, organizationsTable, {
      columns: { id: organizationsTable.id, version: organizationsTable.version },
      before,
      set: { avatarUrl },
      what: 'this organization',
      again: () => organizations.get(ctx, { id }),
    })
    ctx.emit(organizationUpdated, { subjectId: id, organizationId: id, data: { fields: ['avatarUrl'] } })
    return organizations.get(ctx, { id })
  },
  { versioned: true },
)

export const setTeamAvatar = flow(
  'uploads.setTeamAvatar',
  teamUploadRule,
  async (ctx, input: Upload): Promise<Organization> => putTeamAvatar(ctx, await inspect(ctx, input)),
  { versioned: true },
)
export const clearTeamAvatar = write(
  'uploads.clearTeamAvatar',
  teamUploadRule,
  (ctx, _: Record<string, never>): Promise<Organization> => putTeamAvatar(ctx, null),
  { versioned: true },
)

// ---- reading

interface StoredPicture {
  type: string
  /** Null if the caller already has them. */
  bytes: Uint8Array<ArrayBuffer> | null
}

/** Saves the database from encoding a large picture, which takes 50 ms, for each anonymous request. */
const pictureCache = new PictureCache(16 << 20)
/**
 * Limits the bytes that each caller may read per minute, in pieces of 256 KiB: a limit of requests alone would let one
 * network read gigabytes from the database.
 */
const PIECE = 256 << 10
const readLimits = new Buckets(400, 400)

/** Returns a picture to everyone who has its address. It never changes, so a cached copy stays valid. */
export const get = read(
  'uploads.get',
  anyone,
  async (ctx, { id, known = false }: { id: string; known?: boolean }): Promise<StoredPicture> => {
    const reader = ctx.actor.credentialId ?? networkOf(ctx.ip)
    const wait = known ? 0 : readLimits.take(reader, performance.now(), 0)
    if (wait > 0) throw tooManyError(wait, 'pictures')
    const kept = known ? undefined : pictureCache.get(id)
    const base64 = known || kept ? sql<null>`null` : sql<string>`encode(${uploads.bytes}, 'base64')`
    const [found] = await ctx.db.select({ type: uploads.type, base64 }).from(uploads).where(eq(uploads.id, id))
    if (!found) throw notFound('upload', id)
    const bytes = kept ?? (found.base64 === null ? null : Buffer.from(found.base64, 'base64'))
    if (bytes) {
      readLimits.charge(reader, Math.floor(bytes.length / PIECE))
      pictureCache.put(id, bytes)
    }
    return { type: found.type, bytes }
  },
)
