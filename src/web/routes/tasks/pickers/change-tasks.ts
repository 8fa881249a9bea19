/** Changes the chosen tasks, and says what was changed and what was not. */
import type { TaskItem } from '../../../../features/tasks/schema.ts'
import { useSetStatusBar } from '../../../components/status-bar.tsx'
import { toast } from '../../../components/toasts.tsx'
import { spokenKeys } from '../../../shortcuts.ts'
import { type BatchChange, type BatchOutcome, describeBatch, useBatchChange } from '../batch.ts'
import { words } from '../words.ts'

/** Reports how many tasks were not changed, and why. */
function reportUnchanged({ changed, refused, unknown, reasons }: BatchOutcome): void {
  if (refused + unknown === 0) return
  const counts = [
    changed.length > 0 && words.changed(changed.length),
    refused > 0 && words.notChanged(refused),
    unknown > 0 && words.maybeChanged(unknown),
  ].filter((text) => text !== false)
  toast({ title: counts.join(', '), text: [...new Set(reasons)].slice(0, 3).join(' '), bad: true })
}

/** Returns a function that changes tasks. `said` describes the change without its tasks: "priority High". */
export function useChangeTasks(projectId: string) {
  const set = useSetStatusBar()
  const { mutate } = useBatchChange(projectId, (outcome, { said }) => {
    if (outcome.changed.length > 0) set({ right: words.undoable(describeBatch(outcome, said), spokenKeys('$mod+z')) })
    reportUnchanged(outcome)
  })
  return (items: readonly TaskItem[], change: BatchChange, said: string): void => {
    if (items.length > 0) mutate({ items, change, said })
  }
}
