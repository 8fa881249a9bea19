/** The code for edits that wait for the connection. `send-or-wait.ts` loads it ahead. */
export { OfflineBar } from '../frame/offline-bar.tsx'
export { confirmLoss, endImpersonation, mustWait } from './queue.ts'
export { addComment, editTasks } from './task-edits.ts'
