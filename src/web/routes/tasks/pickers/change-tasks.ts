/** Changes the chosen tasks, and says what was changed and what was not. */
import type { TaskItem } from '../../../../features/tasks/schema.ts'
import { useSetStatusBar } from '../../../components/status-bar.tsx'
import { toast } from '../../../components/toasts.tsx'
import { spokenKeys } from '../../../shortcuts.ts'
import { type BatchChange, type BatchOutcome, useBatchChange } from '../batch.ts'
import type { TaskSelection } from '../selection.ts'
import { words } from '../words.ts'

/** Reports how many tasks were not changed, and why. */
function reportUnchanged({ done, refused, unknown, reasons }: BatchOutcome): void {
  if (refused + unknown === 0) return
  const counts = [
    done > 0 && words.changed(done),
    refused > 0 && words.notChanged(refused),
    unknown > 0 && words.maybeChanged(unknown),
  ].filter((text) => text !== false)
  toast({ title: counts.join(', '), text: [...new Set(reasons)].slice(0, 3).join(' '), bad: true })
}

/**
 * Returns a function that changes tasks, or all that match if `all` is given. `said` describes the change without its
 * tasks: "priority High".
 */
export function useChangeTasks(projectId: string) {
  const set = useSetStatusBar()
  const { mutate } = useBatchChange(projectId, {
    announce: (text) => set({ right: text }),
    told: (outcome) => {
      if (outcome.done > 0) set({ right: words.undoable(outcome.title, spokenKeys('$mod+z')) })
      reportUnchanged(outcome)
    },
  })
  return (items: readonly TaskItem[], change: BatchChange, said: string, all?: TaskSelection['all']): void => {
    if (items.length > 0) mutate({ items, change, said, ...(all && { all }) })
  }
}
