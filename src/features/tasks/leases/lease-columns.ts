import { sql } from 'drizzle-orm'
import { isStreamOpen } from '../../connections/streams.ts'
import { tasks } from '../table.ts'

/** SQL condition: the stream of the connection that took the lease is open. */
export const isLeaseStreamOpen = sql<boolean>`(${tasks.leaseConnection} is not null
  and ${isStreamOpen(tasks.leaseCredentialId, tasks.leaseConnection)})`

/** The columns of a lease that decide who may change the task, and that nobody is shown. */
export const leaseColumns = {
  leaseCredentialId: tasks.leaseCredentialId,
  leaseConnection: tasks.leaseConnection,
  leaseClosedAt: tasks.leaseClosedAt,
  leaseStreamOpen: isLeaseStreamOpen,
}

export interface LeaseFacts {
  leaseCredentialId: string | null
  leaseConnection: string | null
  /** When the connection was known to have closed. */
  leaseClosedAt: string | null
  leaseStreamOpen: boolean
}
