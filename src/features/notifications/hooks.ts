import { hook } from '../../hooks.ts'

export interface Notified {
  id: string
  userId: string
  type: string
  reason: string
}

/** Notifications were created, in the running transaction. */
export const onNotified = hook<readonly Notified[]>('notifications.onNotified')
