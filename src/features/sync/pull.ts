import { and, eq, notInArray, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { newId } from '../../db/columns.ts'
import { AppError } from '../../errors.ts'
import { readEpoch } from '../../events/epoch.ts'
import { encodeCursor, type Position } from '../../events/position.ts'
import { currentPosition, parseCursor } from '../../events/reader.ts'
import { daysAfter } from '../../records/days.ts'
import { isId } from '../../records/reference.ts'
import type { Container, SyncEntity } from '../../records/sync.ts'
import { sumsOf } from './checks.ts'
import { readableBy } from './containers.ts'
import { containersFor, type Device, deviceOf, ownDeviceRule } from './devices.ts'
import { readFeed } from './feed.ts'
import { readGainedContainers } from './full-read.ts'
import { storageLimits, syncLimits } from './limits.ts'
import { Changes } from './page.ts'
import { receiptsOf } from './receipts.ts'
import type { Page, PullQuery } from './schema.ts'
import { type Reading, syncCursors, syncDevices } from './table.ts'

/** What a device holds. */
interface State {
  position: Position
  held: readonly Container[]
  reading: Reading | null
}

export const pull = read('sync.pull', ownDeviceRule, async (ctx, query: PullQuery): Promise<Page> => {
  const device = await deviceOf(ctx, query.deviceId)
  const epoch = await readEpoch(ctx.app.driver)
  const may = await containersFor(ctx, device)
  const entities = readableBy(ctx)
  const known = await stateOf(ctx, device, epoch, query.cursor)
  const had = [...known.held, ...(known.reading ? [known.reading.container] : [])]
  // With other scopes the device holds too much or too little of each container, so it gets them again in full.
  const forget = known.entities && !sameNames(known.entities, entities) ? had : had.filter((one) => !may.includes(one))
  const isKept = (container: Container) => !forget.includes(container)
  const state: State = {
    position: known.position,
    held: known.held.filter(isKept),
    reading: known.reading && isKept(known.reading.container) ? known.reading : null,
  }
  const { page, after } = await nextPage(ctx, device, { state, may, entities }, query.limit ?? syncLimits.page)
  const sums = !page.hasMore && isCheckDue(ctx, device)
  const check = sums ? await sumsOf(ctx, after.held, entities) : undefined
  const cursor = await storeCursor(ctx, device, epoch, { after, entities, used: known.id, checked: sums })
  return { epoch, forget: [...new Set(forget)], ...page, cursor, ...(check && { check }) }
})

interface Reader {
  state: State
  may: readonly Container[]
  entities: readonly SyncEntity[]
}

async function nextPage(
  ctx: Ctx,
  device: Device,
  { state, may, entities }: Reader,
  limit: number,
): Promise<{ page: Pick<Page, 'changes' | 'receipts' | 'hasMore'>; after: State }> {
  const changes = new Changes(limit)
  const gained = may.filter((container) => !state.held.includes(container))
  if (gained.length > 0) {
    const { held, reading } = await readGainedContainers(ctx, gained, { ...state, entities }, changes)
    return {
      page: { changes: changes.list, receipts: [], hasMore: true },
      after: { position: state.position, held, reading },
    }
  }
  const held = { containers: new Set(state.held), entities, deviceId: device.id }
  const { position, mutations, complete } = await readFeed(ctx, state.position, held, limit, changes)
  return {
    page: { changes: changes.list, receipts: await receiptsOf(ctx, device, mutations), hasMore: !complete },
    after: { position, held: state.held, reading: null },
  }
}

type KnownState = State & { id?: string; entities?: readonly string[] }

/** Returns the state of a cursor; without a cursor, an empty one. */
async function stateOf(ctx: Ctx, device: Device, epoch: string, cursor: string | undefined): Promise<KnownState> {
  if (cursor === undefined) return { position: await currentPosition(ctx.db), held: [], reading: null }
  const id = cursor.startsWith('s1.') ? cursor.slice(3) : ''
  if (!isId(id)) throw badCursor()
  const [found] = await ctx.db.select().from(syncCursors).where(eq(syncCursors.id, id))
  if (found && found.deviceId !== device.id) throw badCursor()
  const position = found ? parseCursor(epoch, found.position) : 'foreign'
  if (!found || typeof position === 'string' || found.createdAt < daysAfter(ctx.now, -syncLimits.days))
    throw startOver()
  return { id, position, held: found.held, reading: found.reading, entities: found.entities }
}

const badCursor = () =>
  new AppError(
    'invalid.cursor',
    'This cursor was not returned by a pull of this device. Pull without a cursor to start over.',
  )

const startOver = () =>
  new AppError('gone', 'This cursor is too old, or the server was restored since. Pull without a cursor to start over.')

const sameNames = (names: readonly string[], entities: readonly SyncEntity[]): boolean =>
  names.length === entities.length && entities.every(({ entity }) => names.includes(entity))

const HOUR = 3_600_000
const isCheckDue = ({ now }: Ctx, { lastCheckAt }: Device): boolean =>
  lastCheckAt === null || Date.parse(now) - Date.parse(lastCheckAt) >= HOUR

interface StoredCursor {
  after: State
  entities: readonly SyncEntity[]
  /** The cursor at which the page began. */
  used: string | undefined
  checked: boolean
}

/**
 * Stores the cursor of a page. The previous one stays, so a lost response costs nothing, and so do the latest ones of
 * the last hour, because a stream can break off in the middle. Bookkeeping of reads, so not an event.
 */
async function storeCursor(
  ctx: Ctx,
  device: Device,
  epoch: string,
  { after, entities, used, checked }: StoredCursor,
): Promise<string> {
  const { position, held, reading } = after
  const id = newId()
  await ctx.db.insert(syncCursors).values({
    id,
    deviceId: device.id,
    createdAt: ctx.now,
    position: encodeCursor(epoch, position),
    held: [...held],
    reading,
    entities: entities.map(({ entity }) => entity),
  })
  const recent = new Date(Date.parse(ctx.now) - HOUR).toISOString()
  const stay = used ? [id, used] : [id]
  await ctx.db.delete(syncCursors).where(
    and(
      eq(syncCursors.deviceId, device.id),
      notInArray(syncCursors.id, stay),
      sql`(${syncCursors.createdAt} < ${recent} or ${syncCursors.id} <= (select id from ${syncCursors} c
          where c.device_id = ${device.id} order by c.id desc offset ${storageLimits.cursors} limit 1))`,
    ),
  )
  await ctx.db
    .update(syncDevices)
    .set({ lastSeenAt: ctx.now, lastPullAt: ctx.now, ...(checked && { lastCheckAt: ctx.now }) })
    .where(eq(syncDevices.id, device.id))
  return `s1.${id}`
}
