import { hook } from '../../hooks.ts'
import type { Subject } from './schema.ts'

interface NotifiedUser {
  id: string
  userId: string
  type: string
  reason: string
}

/** Notifications were created, in the running transaction. */
export const onNotified = hook<readonly NotifiedUser[]>('notifications.onNotified')

/** Returns the invitations among these that are still open, as subjects of notifications. */
export const invitesAmong = hook<{ ids: readonly string[] }, Subject[]>('notifications.invitesAmong')
