import { type Ctx, flow, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { listPartitions, type TablePartition } from '../../db/table-partitions.ts'
import {
  dropPartition,
  isBlockedByDependents,
  type PartitionLimits,
  partitionEvents,
  partitionsBefore,
} from '../../events/partitions.ts'
import { daysAfter } from '../../records/days.ts'

export const EVENT_DAYS = 365
/** Events of a partition are not deleted one by one within this time: the partition will be dropped as a whole. */
const PART_DAYS = 60

/** Returns the time before which events are deleted one by one. */
export async function eventsBefore(ctx: Ctx): Promise<string> {
  return daysAfter(ctx.now, -EVENT_DAYS - ((await listPartitions(ctx.app.driver, 'events')) ? PART_DAYS : 0))
}

/**
 * Partitions a very large table of events, creates the next partition ahead, and drops old ones. The embedded database
 * keeps one table: it has one writer, for which millions of events would be too many anyway.
 */
export const divideEvents = flow(
  'upkeep.divideEvents',
  machine,
  async (ctx, limits: Omit<PartitionLimits, 'now'>): Promise<void> => {
    const { driver, log } = ctx.app
    if (driver.kind !== 'postgres') return
    const before = daysAfter(ctx.now, -EVENT_DAYS)
    for (const part of await partitionsBefore(driver, before)) {
      await dropOne(ctx, { part, before })
      log.info('old partition of the events dropped', { part: part.name })
    }
    try {
      const begun = await partitionEvents(driver, { ...limits, now: new Date(ctx.now) })
      if (begun) log.info('new partition of the events created', { part: begun })
    } catch (error) {
      if (!isBlockedByDependents(error)) throw error
      log.warn('the events stay in one table', { error })
    }
  },
)

const dropOne = write('upkeep.dropPart', machine, (ctx, { part, before }: { part: TablePartition; before: string }) =>
  dropPartition(ctx.db, part, before),
)
