import type { Actor } from '../auth/actor.ts'
import { AppError } from '../errors.ts'
import { epochOf } from '../events/epoch.ts'
import { between, type Position, toCursor } from '../events/position.ts'
import { positionNow, readAfter } from '../events/reader.ts'
import { type Attached, recordsOf } from './attached.ts'
import { Audience } from './audience.ts'
import type { HubApp } from './following.ts'
import { KnownProjects } from './known-projects.ts'
import { hubLimits } from './limits.ts'
import { type ResetReason, shapeOf } from './messages.ts'
import { positionAt, refusalOf } from './replay.ts'
import { isTopic, isWanted, refusals, Topics, topicsOf } from './topics.ts'

const AT_ONCE = 500

interface Wanted {
  topics: readonly string[]
  cursor?: string
  records?: boolean
}

/**
 * Returns the events after a cursor, for clients that poll instead of holding a connection; without a cursor, only the
 * current cursor. A page covers 500 rows of the log, and may contain no event for the caller.
 */
export async function poll(app: Omit<HubApp, 'workersOf'>, asked: Actor, { topics, cursor, records }: Wanted) {
  const epoch = await epochOf(app.driver)
  // Rights are read after the events, so that no event after a revocation is returned.
  const audience = new Audience(app, new KnownProjects(app.driver, app.events))
  const from = cursor === undefined ? undefined : positionAt(epoch, cursor)
  const now = await positionNow(app.db)
  const reset = from && (await refusalOf(app, from, now))
  const page = from && !reset ? await readAfter(app.db, from as Position, AT_ONCE) : undefined
  const renewed = await app.auth.again(asked)
  if ('ended' in renewed) throw new AppError('unauthenticated', 'The credential has expired or was revoked.')
  const { actor } = renewed
  const known = new Set(topics.filter(isTopic))
  if (known.size > hubLimits.topics) throw new AppError('invalid', `Name at most ${hubLimits.topics} topics.`)
  const refused = await new Topics(app, audience).refused(actor, [...known])
  const granted = known.difference(refused)
  const rows = page?.rows.filter((row) => audience.typeOf(row)) ?? []
  await audience.projects.load(rows.map(({ projectId }) => projectId))
  const heard = rows.filter((row) => isWanted(topicsOf(row), audience.hears(actor, row), granted))
  const attached = records ? await recordsOf(app, heard) : new Map<string, Attached>()
  return {
    events: heard.map((row) => {
      const record = attached.get(row.id)
      const place = between(from as Position, page?.position as Position, row.seq)
      return { cursor: toCursor(epoch, place), ...shapeOf(app.events, row), ...(record && { record }) }
    }),
    cursor: toCursor(epoch, page?.position ?? now),
    refused: refusals(topics, granted),
    ...(reset && { reset: reset satisfies ResetReason }),
  }
}
