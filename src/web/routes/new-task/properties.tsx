/** The row of properties of a new task. Its single keys open them, and arrows move between them. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { BookOpen, Calendar, CircleUser, Hourglass, Tag, Triangle } from 'lucide-react'
import { type KeyboardEvent, type Ref, Suspense, useState } from 'react'
import { priorities } from '../../../records/task-states.ts'
import { agentsQuery, membersQuery } from '../../account/session.ts'
import { Avatar } from '../../components/avatar.tsx'
import { splitList } from '../../components/form/form.tsx'
import { PriorityGlyph, StatusGlyph } from '../../components/glyphs.tsx'
import { lazy } from '../../lib/lazy.ts'
import { priorityNames, statusNames } from '../../words.ts'
import { DueDate, LabelTag } from '../tasks/card.tsx'
import type { ChangeNewTask, NewTask } from './fields.ts'
import { PropertyField, PropertyMenu, PropertyPickerButton } from './property-button.tsx'
import { words } from './words.ts'

const RecordPicker = lazy(() => import('../tasks/pickers/record-picker.tsx'))
const NONE = 'none'

interface Props {
  task: NewTask
  projectId: string
  onChange: ChangeNewTask
  row: Ref<HTMLFieldSetElement>
}

export function Properties({ task, projectId, onChange, row }: Props) {
  return (
    <fieldset className="pchips" aria-label={words.properties} ref={row} onKeyDown={handleKey}>
      <PropertyMenu
        name={words.state}
        hot="s"
        icon={<StatusGlyph status={task.status} />}
        value={statusNames[task.status]}
        entries={(['todo', 'backlog'] as const).map((status) => ({
          value: status,
          label: statusNames[status],
          glyph: <StatusGlyph status={status} />,
          chosen: status === task.status,
        }))}
        onChoose={(status) => onChange({ status: status as NewTask['status'] })}
      />
      <PropertyMenu
        name={words.priority}
        hot="p"
        icon={<PriorityGlyph priority={task.priority} />}
        value={priorityNames[task.priority]}
        entries={priorities.map((priority) => ({
          value: priority,
          label: priorityNames[priority],
          glyph: <PriorityGlyph priority={priority} />,
          chosen: priority === task.priority,
        }))}
        onChoose={(priority) => onChange({ priority: priority as NewTask['priority'] })}
      />
      <Assignee task={task} onChange={onChange} />
      <Fields task={task} onChange={onChange} />
      <Places task={task} projectId={projectId} onChange={onChange} />
    </fieldset>
  )
}

type PartProps = Pick<Props, 'task' | 'onChange'>

function Assignee({ task, onChange }: PartProps) {
  const { team } = useRouteContext({ from: '/inside' })
  const [enabled, setEnabled] = useState(false)
  const members = useQuery({ ...membersQuery(team.id), enabled }).data ?? []
  const agents = useQuery({ ...agentsQuery(team.id), enabled }).data ?? []
  const parties = [
    ...members.map(({ id, name }) => ({ type: 'user' as const, id, name })),
    ...agents.map(({ id, name }) => ({ type: 'agent' as const, id, name })),
  ]
  return (
    <PropertyMenu
      name={words.assignee}
      hot="a"
      icon={task.assignee ? <Avatar party={task.assignee} /> : <CircleUser className="i s14" aria-hidden />}
      value={task.assignee?.name}
      onNear={() => setEnabled(true)}
      entries={[
        { value: '', label: words.nobody, chosen: task.assignee === null },
        ...parties.map((party) => ({
          value: party.id,
          label: party.name,
          glyph: <Avatar party={party} />,
          chosen: task.assignee?.id === party.id,
        })),
      ]}
      onChoose={(id) => onChange({ assignee: parties.find((party) => party.id === id) ?? null })}
    />
  )
}

const Fields = ({ task, onChange }: PartProps) => (
  <>
    <PropertyField
      name={words.labels}
      hot="l"
      icon={task.labels.length === 0 && <Tag className="i s14" aria-hidden />}
      value={task.labels.length > 0 && task.labels.map((label) => <LabelTag key={label} name={label} />)}
      type="text"
      text={task.labels.join(', ')}
      placeholder={words.withCommas}
      onText={(text) => onChange({ labels: splitList(text) })}
    />
    <PropertyField
      name={words.due}
      hot="d"
      icon={!task.dueAt && <Calendar className="i s14" aria-hidden />}
      value={task.dueAt && <DueDate at={task.dueAt} />}
      type="date"
      text={task.dueAt}
      onText={(dueAt) => onChange({ dueAt })}
    />
    <PropertyField
      name={words.estimate}
      hot="E"
      icon={<Triangle className="i s14" aria-hidden />}
      value={task.estimate !== null && words.points(task.estimate)}
      type="number"
      text={task.estimate === null ? '' : String(task.estimate)}
      onText={(text) => onChange({ estimate: text === '' ? null : Number(text) })}
    />
  </>
)

interface Choosing {
  what: 'story' | 'blockers'
  anchor: Element
}

function Places({ task, projectId, onChange }: PartProps & { projectId: string }) {
  const [choosing, setChoosing] = useState<Choosing>()
  const { story, blockers } = task
  const shared = { projectId, subject: words.thisTask, onClose: () => setChoosing(undefined) }
  const toggleBlocker = (id: string, label: string) =>
    onChange(({ blockers }) => {
      const others = blockers.filter((blocker) => blocker.id !== id)
      return {
        blockers: others.length < blockers.length ? others : [...others, { id, key: label.split(' ')[0] ?? id }],
      }
    })
  return (
    <>
      <PropertyPickerButton
        name={words.story}
        icon={<BookOpen className="i s14" aria-hidden />}
        value={story?.title}
        onOpen={(anchor) => setChoosing({ what: 'story', anchor })}
      />
      <PropertyPickerButton
        name={words.blockedBy}
        hot="b"
        icon={<Hourglass className="i s14" aria-hidden />}
        value={blockers.map(({ key }) => key).join(', ')}
        onOpen={(anchor) => setChoosing({ what: 'blockers', anchor })}
      />
      <Suspense>
        {choosing?.what === 'story' && (
          <RecordPicker
            {...shared}
            anchor={choosing.anchor}
            kind="story"
            action={words.storyOf}
            verb={words.choose}
            without={[]}
            first={story ? [{ value: NONE, label: words.noStory }] : []}
            onChoose={(id, title) => onChange({ story: id === NONE ? null : { id, title } })}
          />
        )}
        {choosing?.what === 'blockers' && (
          <RecordPicker
            {...shared}
            anchor={choosing.anchor}
            kind="task"
            action={words.blockersOf}
            verb={words.addOrRemove}
            toggles
            without={[]}
            first={blockers.map(({ id, key }) => ({ value: id, label: key, has: 'all' }))}
            onChoose={toggleBlocker}
          />
        )}
      </Suspense>
    </>
  )
}

/** Keys of the row, while the focus is on one of its buttons. */
function handleKey(event: KeyboardEvent<HTMLElement>): void {
  const { currentTarget: row, target, key } = event
  const isField = target instanceof HTMLInputElement && row.contains(target)
  // Escape leaves the field, not the dialog.
  if (isField && key === 'Escape') event.stopPropagation()
  const buttons = [...row.querySelectorAll('button')]
  const at = buttons.indexOf(target as HTMLButtonElement)
  if (at === -1 || event.metaKey || event.ctrlKey || event.altKey) return
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
  const named = buttons.find((button) => button.dataset.key === key)
  if (!step && !named) return
  event.preventDefault()
  const next = step ? buttons[(at + step + buttons.length) % buttons.length] : named
  next?.focus()
  if (!step) next?.click()
}
