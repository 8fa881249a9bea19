import { DbError } from '../../driver.ts'
import { FLUSH } from '../verify.ts'
import type { Pipeline } from './pipeline.ts'
import type { Reply } from './reader.ts'
import { encodeStatement, makeTrip, type Trip } from './trip.ts'

const statement = (text: string) => encodeStatement({ text, params: [] })
const LATER = [statement('set synchronous_commit to off')]
const NOW = [statement('set synchronous_commit to on'), statement(FLUSH)]
/** Long, because a disk may stall. */
const FLUSH_MS = 60_000

type Way = Pick<Pipeline, 'send'>

/** A unit in a group. `unit` is the trip as it was submitted. */
interface Member extends Trip {
  readonly unit: Trip
}

/** Returns the trip as it was submitted, if this one is a member of a group. */
export const originalTrip = (trip: Trip): Trip => ('unit' in trip ? (trip as Member).unit : trip)

/**
 * Sends transactions that share one fsync. Each is a separate transaction that commits without waiting for the disk, so
 * a failed one affects no other. Then everything is flushed, and only then are the results reported. Later statements
 * run after the flush, so no one reads what a power cut could undo. `ended` is called before the results are reported,
 * with an error if the session is no longer usable.
 */
export function sendGroup(pipeline: Way, units: readonly Trip[], ended: (broken?: DbError) => void): void {
  const [only] = units
  if (units.length === 1 && only) {
    sendAlone(pipeline, only, ended)
    return
  }
  let stored: { unit: Trip; reply: Reply }[] | undefined = []
  const resolve = (unit: Trip, reply: Reply) => {
    // One that was sent again, to prepare its statements again, comes after the flush and has waited for the disk.
    if (reply.error || !stored) unit.resolve(reply)
    else stored.push({ unit, reply })
  }
  const finish = (report: (unit: Trip, reply: Reply) => void, broken?: DbError) => {
    const waiting = stored ?? []
    stored = undefined
    ended(broken)
    for (const { unit, reply } of waiting) report(unit, reply)
  }
  const fail = (why: DbError, broken?: DbError) => {
    const unknown = new DbError('unknown', `the database stopped before it flushed: ${why.message}`)
    finish((unit) => unit.reject(unknown), broken)
  }
  sendStatements(pipeline, LATER).catch(() => undefined)
  for (const unit of units) pipeline.send(memberOf(unit, (reply) => resolve(unit, reply)))
  sendStatements(pipeline, NOW).then(({ error }) => {
    if (error) fail(error, new DbError('unavailable', `the database could not flush: ${error.message}`))
    else finish((unit, reply) => unit.resolve(reply))
  }, fail)
}

const memberOf = (unit: Trip, resolve: Trip['resolve'], reject: Trip['reject'] = unit.reject): Member => ({
  ...unit,
  unit,
  resolve,
  reject,
})

function sendAlone(pipeline: Way, unit: Trip, ended: () => void): void {
  const member = memberOf(
    unit,
    (reply) => {
      ended()
      unit.resolve(reply)
    },
    (why) => {
      ended()
      unit.reject(why)
    },
  )
  pipeline.send(member)
}

function sendStatements(pipeline: Way, statements: Trip['statements']): Promise<Reply> {
  const { trip, reply } = makeTrip({ statements, timeout: FLUSH_MS, repeatable: false })
  pipeline.send(trip)
  return reply
}
