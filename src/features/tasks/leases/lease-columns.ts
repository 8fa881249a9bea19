import { sql } from 'drizzle-orm'
import { isStreamOpen } from '../../connections/streams.ts'
import { tasks } from '../table.ts'

/** SQL condition: the stream of the connection that took the lease is open. */
export const isLeaseStreamOpen = sql<boolean>`(${tasks.leaseConnection} is not null
  and ${isStreamOpen(tasks.leaseCredentialId, tasks.leaseConnection)})`

/** Columns of a lease that permissions depend on and no response contains. */
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
