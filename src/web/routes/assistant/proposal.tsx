/** A draft of the assistant: shown in full, edited, and created only when the reader accepts it. */
import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { useState } from 'react'
import type { Draft, Made, Proposal, TasksDraft } from '../../../features/assistant/schema.ts'
import type { PlanCreate } from '../../../features/planning/schema.ts'
import { projectsQuery } from '../../account/session.ts'
import { ProblemBox } from '../../components/states.tsx'
import { useRecordAddress } from '../../record-address.ts'
import { EditDraft } from './edit-draft.tsx'
import { useAnswerProposal } from './queries.ts'
import { words } from './words.ts'

const text = words.proposal

interface Props {
  proposal: Proposal
  sessionId: string
  messageId: string
  projectId: string | null
  mayAccept: boolean
}

const titleOf = ({ kind, draft }: Proposal): string =>
  kind === 'tasks' && 'tasks' in draft ? text.tasks(draft.tasks.length) : kind === 'plan' ? text.plan : text.note

export function ProposalCard({ proposal, sessionId, messageId, projectId, mayAccept }: Props) {
  const [draft, setDraft] = useState<Draft>(proposal.draft)
  const [isEditing, setEditing] = useState(false)
  const [chosen, choose] = useState(projectId ?? '')
  const { mutate, isPending, error } = useAnswerProposal(sessionId, messageId, proposal.number)
  const isOpen = proposal.state === 'open'
  const needsProject = proposal.kind !== 'note' && projectId === null
  const accept = () =>
    mutate({
      accept: true,
      ...(draft !== proposal.draft && { edit: draft }),
      ...(projectId === null && chosen && { projectId: chosen }),
    })
  return (
    <section className="sheet pad stack" aria-label={titleOf(proposal)}>
      <header className="row wrap">
        <h2 className="h2 grow">{titleOf(proposal)}</h2>
        {!isOpen && (
          <span className={`flag ${proposal.state === 'accepted' ? 'good' : 'info'}`}>
            {text[proposal.state as 'accepted']}
          </span>
        )}
      </header>
      {isEditing ? (
        <EditDraft draft={draft} onChange={setDraft} />
      ) : (
        <ShowDraft draft={isOpen ? draft : proposal.draft} />
      )}
      {proposal.sources.length > 0 && (
        <p className="soft t12">{text.read(proposal.sources.map((n) => `[${n}]`).join(''))}</p>
      )}
      {proposal.made.length > 0 && <CreatedRecords made={proposal.made} />}
      {error && <ProblemBox error={error} />}
      {isOpen && (
        <>
          {mayAccept && needsProject && <ProjectChoice value={chosen} onChange={choose} />}
          <p className="row wrap">
            <span className="soft t12 grow">{text.nothing}</span>
            <button type="button" className="btn small" disabled={isPending} onClick={() => mutate({ accept: false })}>
              {text.decline}
            </button>
            {mayAccept && (
              <>
                <button type="button" className="btn small" onClick={() => setEditing(!isEditing)}>
                  {isEditing ? text.done : text.edit}
                </button>
                <button
                  type="button"
                  className="btn small main"
                  disabled={isPending || (needsProject && chosen === '')}
                  onClick={accept}
                >
                  {text.accept}
                </button>
              </>
            )}
          </p>
        </>
      )}
    </section>
  )
}

function ProjectChoice({ value, onChange }: { value: string; onChange(id: string): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const { data = [] } = useQuery(projectsQuery(team.id))
  return (
    <label className="row wrap">
      <span>{text.where}</span>
      <select className="input" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">{text.choose}</option>
        {data.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

function CreatedRecords({ made }: { made: readonly Made[] }) {
  const addressOf = useRecordAddress()
  return (
    <ul className="stack s1">
      {made.map((one) => (
        <li key={one.id}>
          <Link className="link" to={addressOf({ ...one, organizationId: null }).to}>
            {one.title}
          </Link>
        </li>
      ))}
    </ul>
  )
}

// ---- what it says

type TaskDraft = TasksDraft['tasks'][number]

function ShowDraft({ draft }: { draft: Draft }) {
  if ('tasks' in draft) return <TaskList tasks={draft.tasks} />
  if ('epics' in draft) return <Plan plan={draft} />
  return (
    <>
      <b className="b5">{draft.title}</b>
      <p className="answer">{draft.content}</p>
      {draft.tags && <p className="soft t12">{draft.tags.join(', ')}</p>}
    </>
  )
}

type TaskSummary = Pick<TaskDraft, 'title' | 'description' | 'priority' | 'labels' | 'acceptance' | 'blockedBy'>

const TaskList = ({ tasks }: { tasks: readonly TaskSummary[] }) => (
  <ol className="stack">
    {tasks.map(({ title, description, priority, labels, acceptance, blockedBy }) => (
      <li key={title} className="stack s1">
        <b className="b5">{title}</b>
        {description && <p className="answer">{description}</p>}
        {acceptance && acceptance.length > 0 && (
          <p className="answer">{`${text.criteria}: ${acceptance.join(' · ')}`}</p>
        )}
        <p className="soft t12">
          {[
            priority && `${text.priority} ${priority}`,
            ...(labels ?? []),
            ...(blockedBy?.length ? [text.after(blockedBy.join(', '))] : []),
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </li>
    ))}
  </ol>
)

function Plan({ plan: { epics } }: { plan: PlanCreate }) {
  const tasks = epics.flatMap(({ stories = [] }) => stories.flatMap((story) => story.tasks ?? []))
  const titles = new Map(tasks.map(({ ref, title }) => [ref, title]))
  const named = (refs: readonly string[] = []) => refs.map((ref) => titles.get(ref) ?? ref)
  return (
    <ul className="stack">
      {epics.map((epic) => (
        <li key={epic.title} className="stack s1">
          <b className="b5">{epic.title}</b>
          {epic.description && <p className="answer">{epic.description}</p>}
          {epic.stories?.map((story) => (
            <div key={story.title} className="stack s1 lv2">
              <span className="b5">{story.title}</span>
              {story.description && <p className="answer">{story.description}</p>}
              {story.tasks && (
                <TaskList tasks={story.tasks.map((task) => ({ ...task, blockedBy: named(task.blockedBy) }))} />
              )}
            </div>
          ))}
        </li>
      ))}
    </ul>
  )
}
