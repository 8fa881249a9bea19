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
import { PropertyDialogButton, PropertyField, PropertyMenu } from './property-button.tsx'
import { words } from './words.ts'

const Chooser = lazy(() => import('./record-chooser.tsx'))

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

function Places({ task, projectId, onChange }: PartProps & { projectId: string }) {
  const [choosing, setChoosing] = useState<'story' | 'blocker'>()
  const keys = task.blockers.map(({ key }) => key).join(', ')
  return (
    <>
      <PropertyDialogButton
        name={words.story}
        icon={<BookOpen className="i s14" aria-hidden />}
        value={task.story?.title}
        onOpen={() => setChoosing('story')}
      />
      <PropertyDialogButton
        name={words.blockedBy}
        hot="b"
        icon={<Hourglass className="i s14" aria-hidden />}
        value={keys}
        onOpen={() => setChoosing('blocker')}
      />
      {choosing && (
        <Suspense>
          <Chooser
            title={choosing === 'story' ? words.chooseStory : words.chooseBlocker}
            kind={choosing === 'story' ? 'story' : 'task'}
            projectId={projectId}
            without={task.blockers.map(({ id }) => id)}
            none={choosing === 'story' ? (task.story ? words.noStory : undefined) : keys ? words.noBlocker : undefined}
            onChoose={(id, { key, title }) =>
              onChange(
                choosing === 'story'
                  ? { story: { id, title } }
                  : (before) => ({ blockers: [...before.blockers, { id, key: key ?? title }] }),
              )
            }
            onNone={() => onChange(choosing === 'story' ? { story: null } : { blockers: [] })}
            onClose={() => setChoosing(undefined)}
          />
        </Suspense>
      )}
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
