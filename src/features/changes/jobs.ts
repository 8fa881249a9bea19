import type { JobDefinition } from '../../jobs/definition.ts'
import type { App } from '../../services.ts'
import { endFailedChange, runChange } from './running.ts'
import { giveUpUndo, runUndo, type UndoJob } from './undoing.ts'

/** One at a time, so that mails and other jobs do not wait for the changes of many people. */
const inSteps = { resumable: true, timeoutSeconds: 3600, alone: true } as const

export const changeJobs: JobDefinition<App>[] = [
  {
    ...inSteps,
    name: 'changes.run',
    run: (app, { id }, signal) => runChange(app, id as string, signal),
    onFailed: (app, { id }) => endFailedChange(app, id as string),
  },
  {
    ...inSteps,
    name: 'changes.undo',
    run: (app, job, signal) => runUndo(app, job as { [K in keyof UndoJob]: UndoJob[K] }, signal),
    onFailed: (app, { id }) => giveUpUndo(app, id as string),
  },
]
