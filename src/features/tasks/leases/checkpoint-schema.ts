import { UserOrAgent } from '../../../records/user-or-agent.ts'
import { array, instant, object, optional, type Static, text } from '../../../schema.ts'

const lines = optional(array(text(1000), 50))
/** The checkpoint of the last session that worked on a task, so that another worker can continue. */
export const TaskCheckpoint = object({
  author: UserOrAgent,
  at: instant(),
  nextStep: optional(text(4000)),
  branch: optional(text(200)),
  files: lines,
  commands: lines,
  openQuestions: lines,
})
export type TaskCheckpoint = Static<typeof TaskCheckpoint>
