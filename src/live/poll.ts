import type { Actor } from '../auth/actor.ts'
import { AppError } from '../errors.ts'
import { readEpoch } from '../events/epoch.ts'
import { encodeCursor, type Position, positionAfter } from '../events/position.ts'
import { currentPosition, readPageAfter } from '../events/reader.ts'
import { Audience } from './audience.ts'
import { type AttachedRecord, loadEventRecords } from './event-records.ts'
import type { HubApp } from './hub-app.ts'
import { KnownProjects } from './known-projects.ts'
import { hubLimits } from './limits.ts'
import { type ResetReason, toPublicEvent } from './messages.ts'
import { parseClientCursor, replayRefusal } from './replay.ts'
import { isTopic, isWanted, TopicAccess, topicRefusals, topicsOf } from './topics.ts'

const AT_ONCE = 500

interface Wanted {
  topics: readonly string[]
  cursor?: string
  records?: boolean
}

/** Returns a cursor with which a client that now reads data receives every later event. */
export const currentCursor = async ({ driver, db }: Pick<HubApp, 'driver' | 'db'>): Promise<string> =>
  encodeCursor(await readEpoch(driver), await currentPosition(db))

/**
 * Returns the events after a cursor, for clients that poll instead of holding a connection; without a cursor, only the
 * current cursor. A page covers 500 rows of the log, and may contain no event for the caller.
 */
export async function pollEvents(app: Omit<HubApp, 'workersOf'>, asked: Actor, { topics, cursor, records }: Wanted) {
  const epoch = await readEpoch(app.driver)
  // Rights are read after the events, so that no event after a revocation is returned.
  const audience = new Audience(app, new KnownProjects(app.driver, app.events))
  const from = cursor === undefined ? undefined : parseClientCursor(epoch, cursor)
  const now = await currentPosition(app.db)
  const reset = from && (await replayRefusal(app, from, now))
  const page = from && !reset ? await readPageAfter(app.db, from as Position, AT_ONCE) : undefined
  const renewed = await app.auth.renew(asked)
  if ('ended' in renewed) throw new AppError('unauthenticated', 'The credential has expired or was revoked.')
  const { actor } = renewed
  const known = new Set(topics.filter(isTopic))
  if (known.size > hubLimits.topics) throw new AppError('invalid', `Name at most ${hubLimits.topics} topics.`)
  const refused = await new TopicAccess(app, audience).refusedTopics(actor, [...known])
  const granted = known.difference(refused)
  const rows = page?.rows.filter((row) => audience.typeOf(row)) ?? []
  await audience.projects.load(rows.map(({ projectId }) => projectId))
  const heard = rows.filter((row) => isWanted(topicsOf(row), audience.accessTo(actor, row), granted))
  const attached = records ? await loadEventRecords(app, heard) : new Map<string, AttachedRecord>()
  return {
    events: heard.map((row) => {
      const record = attached.get(row.id)
      const place = positionAfter(from as Position, page?.position as Position, row.seq)
      return { cursor: encodeCursor(epoch, place), ...toPublicEvent(app.events, row), ...(record && { record }) }
    }),
    cursor: encodeCursor(epoch, page?.position ?? now),
    refused: topicRefusals(topics, granted),
    ...(reset && { reset: reset satisfies ResetReason }),
  }
}
