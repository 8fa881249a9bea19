import { and, eq, or, sql } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import {
  type BundleHead,
  type BundleKeys,
  keyFingerprint as fingerprintOf,
  openBundle,
  packBundle,
  privateKey,
} from '../../auth/bundle.ts'
import { wholeTeam } from '../../auth/policy.ts'
import { deriveKey } from '../../auth/secrets.ts'
import { check } from '../../check.ts'
import { AppError, invalid } from '../../errors.ts'
import { array, object, type Static } from '../../schema.ts'
import { MOST_DEPTH } from '../../text/json-depth.ts'
import { users } from '../users/table.ts'
import { type Device, deviceOf, ownDeviceRule, registerDevice } from './devices.ts'
import { syncLimits } from './limits.ts'
import { pull } from './pull.ts'
import { push } from './push.ts'
import { type Carried, type Carry, DeviceRegister, Mutation, type Page, PullQuery, type Receipt } from './schema.ts'
import { syncDevices } from './table.ts'

/**
 * Bundles of devices without a network: the user carries a file with the device's changes to the server, and the
 * response back. The key that signs its bundles identifies the device, which gets no right beyond those of the user who
 * carries them.
 */

const { schema, platform, only } = DeviceRegister.properties
const Request = object({ schema, platform, only, cursor: PullQuery.properties.cursor })
type Request = Static<typeof Request>
/** The limits of a bundle. Its lines are the request and at most 100,000 changes. */
const bundleLimits = { bytes: 64 << 20, lines: 100_001, depth: MOST_DEPTH }
/** Changes that are checked before other work may run. */
const CHECKED = 1000
const Changes = array(Mutation, CHECKED)
/** Bytes of pages after which the response ends: the next bundle of the device gets the rest. */
const RESPONSE = 64 << 20

/** The server signs with the key of its access tokens; devices encrypt to a key of its own. */
const keysOf = ({ app }: Ctx): BundleKeys => ({
  signing: privateKey('ed25519', deriveKey(app.secret, 'jwt')),
  box: privateKey('x25519', deriveKey(app.secret, 'bundle')),
})

/** Applies the changes of a bundle, and returns the bundle for its device. */
export const carryBundle = flow(
  'sync.carry',
  wholeTeam(ownDeviceRule),
  async (ctx, { bundle, fingerprint }: Carry): Promise<Carried> => {
    const { head, hash, lines } = openBundle(Buffer.from(bundle, 'base64'))
    if (head.direction !== 'out' || head.signer !== head.device)
      throw invalid('/bundle', 'This file is not a sync bundle of a device.')
    if (fingerprint !== fingerprintOf(head.device))
      throw invalid('/fingerprint', 'fingerprint does not match the key of this bundle.')
    const keys = keysOf(ctx)
    await checkUser(ctx, head)
    const { request, mutations } = await contentOf(head, await lines(keys, bundleLimits))
    const device = await deviceFor(ctx, head, request)
    checkNumber(device, head.number, hash)
    const receipts = await pushAll(ctx, device, mutations)
    const { pages, fresh } = await pullPages(ctx, device, request.cursor)
    await markCarried(ctx, { device, number: head.number, hash })
    const [user] = await ctx.db
      .select({ id: users.id, name: users.name, email: users.email })
      .from(users)
      .where(eq(users.id, device.userId))
    const response = { deviceId: device.id, user, team: ctx.actor.organizationId ?? undefined, receipts, fresh }
    const back = { ...head, direction: 'back' as const, at: ctx.now, server: ctx.app.url, user: user?.email ?? '' }
    return {
      bundle: packBundle(back, [response, ...pages], keys, head.box).toString('base64'),
      changes: receipts.length,
      records: pages.reduce((sum, { changes }) => sum + changes.length, 0),
    }
  },
)

/**
 * Throws 403 for a bundle of another user: its changes would get the wrong author, and the response would show records
 * that its user may not see. A device without a sign-in names no user, and a device of the caller may name their former
 * address.
 */
async function checkUser(ctx: Ctx, head: BundleHead): Promise<void> {
  if (head.user === '' || (await knownDevice(ctx, head))) return
  const [user] = await ctx.db
    .select({ email: users.email })
    .from(users)
    .where(eq(users.id, userIdOf(ctx.actor)))
  if (user?.email.toLowerCase() !== head.user.toLowerCase())
    throw new AppError('forbidden', 'This bundle belongs to another user. Only that user can carry it.')
}

interface Content {
  request: Request
  mutations: Mutation[]
}

async function contentOf({ sealed }: BundleHead, [request, ...mutations]: object[]): Promise<Content> {
  const errors = [...check(Request, request ?? {})]
  for (let at = 0; at < mutations.length && errors.length === 0; at += CHECKED) {
    errors.push(...check(Changes, mutations.slice(at, at + CHECKED)))
    await new Promise(setImmediate)
  }
  if (errors[0]) throw invalid('/bundle', `This bundle cannot be used: ${errors[0].message}`)
  if (sealed === undefined && mutations.length > 0)
    throw invalid('/bundle', 'Changes must be encrypted for the server.')
  return { request: request as Request, mutations: mutations as Mutation[] }
}

async function knownDevice(ctx: Ctx, { device }: BundleHead): Promise<Pick<Device, 'id' | 'schema'> | undefined> {
  const [known] = await ctx.db
    .select({ id: syncDevices.id, schema: syncDevices.schema })
    .from(syncDevices)
    .where(and(eq(syncDevices.userId, userIdOf(ctx.actor)), eq(syncDevices.publicKey, device)))
  return known
}

/**
 * Returns the user's device with this key. Registers a new device, whose fingerprint the user has compared, and one
 * whose program was updated.
 */
async function deviceFor(ctx: Ctx, head: BundleHead, request: Request): Promise<Device> {
  const known = await knownDevice(ctx, head)
  const { device: publicKey, name } = head
  const { cursor: _, ...about } = request
  const input = { ...about, name: name.trim().slice(0, 100) || 'device', publicKey }
  if (known?.schema === request.schema) return deviceOf(ctx, known.id)
  const { deviceId } = await registerDevice(ctx, { ...input, ...(known && { deviceId: known.id }) })
  return deviceOf(ctx, deviceId)
}

/** A device raises the number when it receives a response, so each bundle has the last number or the next one. */
function checkNumber({ carried, carriedHash }: Device, number: number, hash: string): void {
  if (number < carried || hash === carriedHash)
    throw new AppError('conflict', `Bundle ${number} was already carried. If the response was lost, export again.`)
  if (number > carried + 1)
    throw new AppError(
      'conflict',
      `This is bundle ${number}, but bundle ${carried + 1} was not carried yet. Carry that bundle first: tutti sync carry.`,
    )
}

const markCarried = write(
  'sync.markCarried',
  ownDeviceRule,
  async (ctx, { device, number, hash }: { device: Device; number: number; hash: string }): Promise<void> => {
    const isNext = or(eq(syncDevices.carried, number - 1), eq(syncDevices.carried, number))
    await ctx.db
      .update(syncDevices)
      .set({ carried: number, carriedHash: hash, lastSeenAt: ctx.now })
      .where(and(eq(syncDevices.id, device.id), isNext, sql`${syncDevices.carriedHash} is distinct from ${hash}`))
  },
)

async function pushAll(ctx: Ctx, { id: deviceId }: Device, mutations: readonly Mutation[]): Promise<Receipt[]> {
  const receipts: Receipt[] = []
  for (let at = 0; at < mutations.length; at += syncLimits.mutations) {
    let open = mutations.slice(at, at + syncLimits.mutations)
    // A push decides on some changes, and leaves the rest to the next push.
    while (open.length > 0) {
      const decided = (await push(ctx, { deviceId, mutations: open })).receipts
      const ids = new Set(decided.map(({ mutationId }) => mutationId))
      receipts.push(...decided)
      open = open.filter(({ mutationId }) => !ids.has(mutationId))
    }
  }
  return receipts
}

/** Returns the pages since the cursor, as many as fit into a response; from the beginning if the cursor is too old. */
async function pullPages(
  ctx: Ctx,
  { id: deviceId }: Device,
  cursor: string | undefined,
): Promise<{ pages: Page[]; fresh: boolean }> {
  const pages: Page[] = []
  let fresh = cursor === undefined
  let bytes = 0
  for (let next = cursor; ; ) {
    try {
      const page = await pull(ctx, { deviceId, cursor: next })
      pages.push(page)
      bytes += Buffer.byteLength(JSON.stringify(page))
      if (!page.hasMore || bytes > RESPONSE) return { pages, fresh }
      next = page.cursor
    } catch (error) {
      if (fresh || !(error instanceof AppError) || error.code !== 'gone') throw error
      fresh = true
      next = undefined
    }
  }
}
