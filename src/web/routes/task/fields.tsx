/** The properties of a task. Each opens its picker, by a click or by its key. */
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import type { TaskDetail, TaskPatch } from '../../../features/tasks/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { PriorityGlyph, StatusGlyph } from '../../components/glyphs.tsx'
import { Property } from '../../components/section.tsx'
import { useCommands } from '../../shortcuts.ts'
import { NotSent } from '../../waiting/waiting-edits.tsx'
import { priorityNames, statusNames } from '../../words.ts'
import { DueDate, LabelTag } from '../tasks/card.tsx'
import { type PickerField, pickerFields, pickerKeys } from '../tasks/pickers/field.ts'
import { LazyFieldPicker, loadPickerAhead } from '../tasks/pickers/lazy-picker.tsx'
import { pressField } from '../tasks/pickers/press-field.ts'
import { words as pickerWords } from '../tasks/pickers/words.ts'
import { TaskParents } from './parents.tsx'
import { describePatch } from './queries.ts'
import { useKeyScope } from './section.tsx'
import { words } from './words.ts'

interface Props {
  task: TaskDetail
  may: boolean
  onChange(patch: TaskPatch): void
  children: ReactNode
}

/** The keys of the properties. Beside a list, the keys of the list act on the task with the focus first. */
function useFieldKeys(may: boolean, onMine: () => void): void {
  const scope = useKeyScope()
  useCommands(
    may
      ? [
          ...pickerFields.map((field) => ({
            keys: pickerKeys[field],
            label: pickerWords.fields[field],
            scope,
            run: () => pressField(field),
          })),
          { keys: 'i', label: pickerWords.assignMe, scope, run: onMine },
        ]
      : [],
  )
}

export function TaskFields({ task, may, onChange, children }: Props) {
  const [picking, setPicking] = useState<{ field: PickerField; anchor: Element }>()
  useFieldKeys(may, () => onChange(describePatch({ assignee: 'me' }, pickerWords.assignedToMe)))
  useEffect(loadPickerAhead, [])
  const shared = {
    task,
    may,
    picking: picking?.field,
    onPick: (field: PickerField, anchor: Element) => setPicking({ field, anchor }),
  }
  return (
    <>
      <aside aria-label={words.fields}>
        <dl>
          <Choice {...shared} field="status" name={words.state}>
            <StatusGlyph status={task.status} />
            {statusNames[task.status]}
          </Choice>
          <Choice {...shared} field="priority" name={words.priority}>
            <PriorityGlyph priority={task.priority} />
            {priorityNames[task.priority]}
          </Choice>
          <Choice {...shared} field="assignee" name={words.assignee}>
            {task.assignee && <Avatar party={task.assignee} />}
            {task.assignee?.name ?? <span className="soft">{pickerWords.noOne}</span>}
          </Choice>
          <Choice {...shared} field="due" name={words.due} isEmpty={!task.dueAt}>
            {task.dueAt && <DueDate at={task.dueAt} />}
          </Choice>
          <Choice {...shared} field="label" name={words.labels} isEmpty={task.labels.length === 0}>
            {task.labels.map((label) => (
              <LabelTag key={label} name={label} />
            ))}
          </Choice>
          <Choice {...shared} field="estimate" name={words.estimate} isEmpty={task.estimate === null}>
            {task.estimate !== null && pickerWords.points(task.estimate)}
          </Choice>
          <TaskParents task={task} may={may} onChange={onChange} />
          <Property name={words.project}>
            <Link className="cut" to="/projects/$slug/tasks" params={{ slug: task.project.slug }}>
              {task.project.name}
            </Link>
          </Property>
        </dl>
        {children}
      </aside>
      {picking && (
        <LazyFieldPicker
          key={picking.field}
          {...picking}
          items={[task]}
          onChange={(change, said) => onChange(describePatch(change, said))}
          onClose={() => setPicking(undefined)}
        />
      )}
    </>
  )
}

/** The field of the record that a picker changes. */
const waitingField: Record<PickerField, string> = {
  status: 'status',
  priority: 'priority',
  assignee: 'assignee',
  due: 'dueAt',
  label: 'labels',
  estimate: 'estimate',
  blockedBy: '',
}

interface ChoiceProps {
  task: TaskDetail
  name: string
  field: PickerField
  may: boolean
  /** The field whose picker is open. */
  picking: PickerField | undefined
  onPick(field: PickerField, anchor: Element): void
  isEmpty?: boolean
  children: ReactNode
}

function Choice({ task, name, field, may, picking, onPick, isEmpty = false, children }: ChoiceProps) {
  if (!may) return isEmpty ? null : <Property name={name}>{children}</Property>
  return (
    <Property name={name}>
      <button
        type="button"
        data-field={field}
        className="row tight wrap"
        aria-haspopup="dialog"
        aria-expanded={picking === field}
        onClick={({ currentTarget }) => onPick(field, currentTarget)}
      >
        <span className="hide">{name}: </span>
        {isEmpty ? <span className="soft">{words.notSet}</span> : children}
        <NotSent id={task.id} field={waitingField[field]} />
      </button>
    </Property>
  )
}
