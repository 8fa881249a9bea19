import { inArray, notInArray, type SQL } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { closedStatuses } from './task-states.ts'

/** Returns the condition for the filter `open` of epics, stories and tasks. Default: work in all states. */
export const openCondition = (status: PgColumn, open: boolean | undefined): SQL | undefined =>
  open === undefined ? undefined : (open ? notInArray : inArray)(status, [...closedStatuses])
