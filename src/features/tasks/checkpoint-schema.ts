import { Party } from '../../records/party.ts'
import { array, instant, object, optional, type Static, text } from '../../schema.ts'

const noted = (example: string) => optional(array(text(1000, { example }), 50))
/** Where the last session that worked on a task stopped, so that another worker can continue. */
export const TaskCheckpoint = object({
  author: Party,
  at: instant(),
  nextStep: optional(text(4000, { example: 'Make the second process exit with a clear line' })),
  branch: optional(text(200, { example: 'lock-folder' })),
  files: noted('src/db/lock.ts'),
  commands: noted('bun test test/db'),
  openQuestions: noted('What about network file systems?'),
})
export type TaskCheckpoint = Static<typeof TaskCheckpoint>
