/** Changes a field of one or several tasks. Loaded while the page is idle, so that a key opens it at once. */
import { gatedStatuses, type Priority, priorities, type Status, statuses } from '../../../../records/task-states.ts'
import { PriorityGlyph, StatusGlyph } from '../../../components/glyphs.tsx'
import { Picker } from '../../../components/picker/picker.tsx'
import { useIsAway } from '../../../live/state.ts'
import { words as common, priorityNames, statusNames } from '../../../words.ts'
import { AssigneePicker } from './assignee-picker.tsx'
import { BlockerPicker } from './blocker-picker.tsx'
import { DuePicker } from './due-picker.tsx'
import { EstimatePicker } from './estimate-picker.tsx'
import type { FieldPickerProps, PickedTask, PickerField } from './field.ts'
import { LabelPicker } from './label-picker.tsx'
import { share, subjectOf } from './shares.ts'
import { words } from './words.ts'

const pickers = {
  status: StatePicker,
  priority: PriorityPicker,
  assignee: AssigneePicker,
  label: LabelPicker,
  due: DuePicker,
  blockedBy: BlockerPicker,
  estimate: EstimatePicker,
} satisfies Record<PickerField, unknown>

export default function FieldPicker({ field, ...props }: FieldPickerProps & { field: PickerField }) {
  const FieldOf = pickers[field]
  return <FieldOf {...props} />
}

/** Why none of the tasks can get the state: the page is offline, or all of them wait for others. */
function stateRefusal(items: readonly PickedTask[], status: Status, isAway: boolean): string | undefined {
  if (isAway && gatedStatuses.has(status)) return common.needsConnection
  const waits = items.filter(({ blockedBy }) => blockedBy.length > 0)
  if (!gatedStatuses.has(status) || waits.length < items.length) return undefined
  return words.waitsFor(waits.length === 1 ? (waits[0]?.blockedBy ?? []) : [])
}

function StatePicker({ items, onChange, ...place }: FieldPickerProps) {
  const isAway = useIsAway()
  return (
    <Picker
      {...place}
      action={words.actions.status}
      subject={subjectOf(items)}
      verb={words.verbs.set}
      options={statuses.map((status) => ({
        value: status,
        label: statusNames[status],
        glyph: <StatusGlyph status={status} />,
        has: share(items, (task) => task.status === status),
        refused: stateRefusal(items, status, isAway),
      }))}
      onChoose={(status) => onChange({ status: status as Status }, words.said.status(statusNames[status as Status]))}
    />
  )
}

function PriorityPicker({ items, onChange, ...place }: FieldPickerProps) {
  return (
    <Picker
      {...place}
      action={words.actions.priority}
      subject={subjectOf(items)}
      verb={words.verbs.set}
      options={priorities.map((priority) => ({
        value: priority,
        label: priorityNames[priority],
        glyph: <PriorityGlyph priority={priority} />,
        has: share(items, (task) => task.priority === priority),
      }))}
      onChoose={(priority) =>
        onChange({ priority: priority as Priority }, words.said.priority(priorityNames[priority as Priority]))
      }
    />
  )
}
