import { inArray, notInArray, type SQL } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { closed } from './work.ts'

/** Returns the condition for the filter `open` of epics, stories and tasks. Default: work in all states. */
export const isOpen = (status: PgColumn, open: boolean | undefined): SQL | undefined =>
  open === undefined ? undefined : (open ? notInArray : inArray)(status, [...closed])
