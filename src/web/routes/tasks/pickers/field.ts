import type { TaskItem } from '../../../../features/tasks/schema.ts'
import type { EarlyKeys } from '../../../components/picker/early-keys.ts'
import type { BatchChange } from '../batch.ts'

export const pickerFields = ['status', 'priority', 'assignee', 'label', 'due', 'blockedBy', 'estimate'] as const
export type PickerField = (typeof pickerFields)[number]

/** The key that opens each picker, as shortcuts are written. */
export const pickerKeys: Record<PickerField, string> = {
  status: 's',
  priority: 'p',
  assignee: 'a',
  label: 'l',
  due: 'd',
  blockedBy: 'b',
  estimate: 'Shift+E',
}

/** The key that completes a task. */
export const COMPLETE_KEY = 'Shift+C'

type PickedFields = 'status' | 'priority' | 'assignee' | 'labels' | 'dueAt' | 'estimate' | 'blockedBy'

/** What a picker needs to know of a task. */
export interface PickedTask extends Pick<TaskItem, 'id' | 'key' | 'projectId' | PickedFields> {
  /** The tasks that wait for it, if the page knows them. */
  frees?: readonly { id: string }[]
}

export interface FieldPickerProps {
  /** Where it is shown. */
  anchor: Element
  items: readonly PickedTask[]
  /** `said` describes the change, without its tasks: "priority High". */
  onChange(change: BatchChange, said: string): void
  onClose(): void
  onFocusLost?(): void
  /** What was pressed before its script was loaded. */
  early?: EarlyKeys
}
