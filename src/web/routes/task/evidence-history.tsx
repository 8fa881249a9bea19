/** What shows that the task is done, and what happened to it. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { TaskDetail, TaskEvidence } from '../../../features/tasks/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { EvidenceGlyph, EvidenceWord } from '../../components/evidence.tsx'
import { FeedRow } from '../../components/feed-row.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { ago, dayAndTime } from '../../lib/times.ts'
import { AddLineForm } from './add-line.tsx'
import { taskHistoryQuery } from './queries.ts'
import { TaskSection } from './section.tsx'
import { words } from './words.ts'

const When = ({ at }: { at: string }) => (
  <time className="soft t12 nowrap" dateTime={at} title={dayAndTime(at)}>
    {ago(at)}
  </time>
)

/** Files, commits and the like, as they were named. */
const namedIn = ({ files, commits, pullRequests, testRuns, links }: TaskEvidence['evidence']): string[] =>
  [files, commits, pullRequests, testRuns, links].flatMap((list) => list ?? [])

const LONGEST = 500

interface TrailProps {
  evidence: TaskDetail['evidence']
  may: { add: boolean; verify: boolean }
  busy: boolean
  onAdd(line: string): void
  onVerify(id: string): void
}

export function TaskEvidenceList({ evidence, may, busy, onAdd, onVerify }: TrailProps) {
  if (evidence.length === 0 && !may.add) return null
  return (
    <TaskSection title={words.evidence} n={evidence.length || undefined}>
      <ol className="trail">
        {evidence.toReversed().map((one) => (
          <li key={one.id} className="ev">
            <EvidenceGlyph level={one.level} />
            <span>{one.evidence.summary}</span>
            <EvidenceWord level={one.level} />
            <span className="what">
              <Avatar party={one.actor} />
              <span>{one.actor.name}</span>
              {namedIn(one.evidence).map((name) => (
                <span key={name} className="cut">
                  {name}
                </span>
              ))}
              <When at={one.createdAt} />
              {may.verify && one.level !== 'verified' && (
                <button
                  type="button"
                  className="btn small end"
                  aria-label={words.verifyOf(one.evidence.summary)}
                  disabled={busy}
                  onClick={() => onVerify(one.id)}
                >
                  {words.verify}
                </button>
              )}
            </span>
          </li>
        ))}
      </ol>
      {may.add && <AddLineForm label={words.addEvidence} longest={LONGEST} onAdd={onAdd} />}
    </TaskSection>
  )
}

/** Loaded when the reader opens it. */
export function TaskHistory({ task }: { task: TaskDetail }) {
  const [open, setOpen] = useState(false)
  const { data = [], error } = useQuery({ ...taskHistoryQuery(task.id), enabled: open })
  return (
    <details className="sect" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="h2">{words.history}</summary>
      {error && <ProblemBox error={error} />}
      <ul>
        {data.map(({ id, actor, description, at }) => (
          <li key={id}>
            <FeedRow actor={actor} what={description} when={<When at={at} />} />
          </li>
        ))}
      </ul>
    </details>
  )
}
