import { hostname } from 'node:os'
import { AppError } from '../../src/errors.ts'
import type { Client } from '../api/client.ts'
import { withQuery } from '../api/reference.ts'
import { publicKeyOf } from './bundles.ts'
import type { Copy } from './copy.ts'
import { type Queued, toWire } from './mutation.ts'
import { type AppliedPage, acknowledgeReceipts, applyPage, type Page, type Receipt, SCHEMA } from './pages.ts'

interface Registered {
  deviceId: string
  epoch: string
  schema: string
  containers: string[]
  limits?: { mutations?: number; bytes?: number }
}

export interface ExchangeResult extends AppliedPage {
  pushed: number
  conflicts: number
  rejected: number
  /** Containers that differed from the server's count and were pulled again. */
  repaired: string[]
}

/** Limits of one push; the server may send smaller ones. */
const [MAX_MUTATIONS, MAX_BYTES] = [500, 7 << 20]

/** Registers this device with the server or renews its registration; as a new device if the server removed it. */
export async function registerDevice(copy: Copy, client: Client): Promise<Registered> {
  const known = copy.get('deviceId')
  try {
    return await sendRegistration(copy, client, known)
  } catch (error) {
    if (known === undefined || !isUnknown(error)) throw error
    return sendRegistration(copy, client, undefined)
  }
}

/** The server does not know the device, or its cursor is too old. */
const isUnknown = (error: unknown): boolean =>
  error instanceof AppError && (error.code === 'gone' || error.code === 'not_found')

async function sendRegistration(copy: Copy, client: Client, known: string | undefined): Promise<Registered> {
  const only = copy.get('only')
  const registered = await client.post<Registered>('/api/sync/devices/register', {
    name: (hostname() || 'this computer').slice(0, 100),
    platform: `${process.platform}-${process.arch}`,
    schema: SCHEMA,
    ...(only && { only: JSON.parse(only) as string[] }),
    ...(known && { deviceId: known }),
    publicKey: publicKeyOf(copy),
  })
  copy.change(() => {
    if (known !== registered.deviceId) resetCursor(copy)
    copy.set('deviceId', registered.deviceId)
    copy.set('schema', SCHEMA)
  })
  return registered
}

/**
 * Deletes the cursor, so that the next pull reads everything. Unconfirmed changes are pushed again: the server compares
 * values, so it does not apply a change twice.
 */
function resetCursor(copy: Copy): void {
  copy.change(() => {
    copy.set('cursor', undefined)
    copy.run("update queue set state = 'sent' where state = 'acked'")
  })
}

/**
 * Pushes, then pulls. Registers a device that the server does not know any more, or whose program was updated, and
 * starts over where the server says so.
 */
export async function exchangeWithServer(copy: Copy, client: Client): Promise<ExchangeResult> {
  for (let attempt = 0; ; attempt++) {
    try {
      if (!copy.get('deviceId') || copy.get('schema') !== SCHEMA) await registerDevice(copy, client)
      const pushed = await pushChanges(copy, client)
      return { ...pushed, ...(await pullChanges(copy, client)) }
    } catch (error) {
      if (attempt > 1 || !isUnknown(error)) throw error
      // Gone: the cursor is too old or the server was restored. Not found: the device was removed.
      if (attempt > 0 || (error as AppError).code === 'not_found') await registerDevice(copy, client)
      else resetCursor(copy)
    }
  }
}

type PushResult = Pick<ExchangeResult, 'pushed' | 'conflicts' | 'rejected'>

/** Sends all changes that the server has not acknowledged, in order. */
export async function pushChanges(copy: Copy, client: Client): Promise<PushResult> {
  const done: PushResult = { pushed: 0, conflicts: 0, rejected: 0 }
  for (;;) {
    const batch = nextBatch(copy)
    if (batch.length === 0) return done
    const { receipts } = await client.post<{ receipts: Receipt[] }>('/api/sync/push', {
      deviceId: copy.get('deviceId'),
      mutations: batch.map(toWire),
    })
    const judged = receipts.filter(({ mutationId }) => batch.some((m) => m.mutationId === mutationId))
    if (judged.length === 0)
      throw new AppError('upstream_failed', 'The server returned no result for the changes that were sent.')
    acknowledgeReceipts(copy, judged)
    done.pushed += judged.length
    done.conflicts += judged.filter(({ status }) => status === 'conflict').length
    done.rejected += judged.filter(({ status }) => status === 'rejected').length
  }
}

/** Marks changes as sent before they are, so that none is altered that may have reached the server. */
function nextBatch(copy: Copy): Queued[] {
  return copy.change(() => {
    let size = 0
    const waiting = copy.queue().filter(({ state }) => state !== 'acked')
    const batch = waiting.slice(0, MAX_MUTATIONS).filter((mutation, i) => {
      size += JSON.stringify(mutation).length * 2
      return i === 0 || size < MAX_BYTES
    })
    for (const { seq } of batch) copy.run("update queue set state = 'sent' where seq = ?", seq)
    return batch
  })
}

/** Pulls all pages, and once more what differs from the server's check. */
export async function pullChanges(copy: Copy, client: Client): Promise<AppliedPage & { repaired: string[] }> {
  const all = { changed: 0, deleted: 0, settled: 0, repaired: [] as string[] }
  for (;;) {
    const cursor = copy.get('cursor')
    const page = await client.get<Page>(withQuery('/api/sync/pull', { deviceId: copy.get('deviceId'), cursor }))
    const { changed, deleted, settled } = applyPage(copy, page, cursor === undefined)
    all.changed += changed
    all.deleted += deleted
    all.settled += settled
    if (page.hasMore) continue
    const wrong = all.repaired.length === 0 ? differingContainers(copy, page.check) : []
    if (wrong.length === 0) return all
    all.repaired = wrong
    resetCursor(copy)
  }
}

/** Returns the containers whose records differ from what the server counted. */
const differingContainers = (copy: Copy, check: Page['check']): string[] =>
  (check ?? [])
    .filter(({ container, count, sum }) => {
      const mine = countRecords(copy, container)
      return mine.count !== count || mine.sum !== sum
    })
    .map(({ container }) => container)

/** Counts the records of a container, and sums the first 32 bits of the hash of each id and version. */
function countRecords(copy: Copy, container: string): { count: number; sum: number } {
  const held = copy.all<{ id: string; version: number }>(
    'select id, version from records where (container = ?1 or container2 = ?1) and shadow is not null',
    container,
  )
  const sum = held.reduce((sum, { id, version }) => sum + firstHashBits(`${id}:${version}`), 0)
  return { count: held.length, sum }
}

const firstHashBits = (text: string): number => new Bun.CryptoHasher('md5').update(text).digest().readUInt32BE(0)
