/** What a task says, and what may be done with it. The server says what that is, in `can`. */
import { Trash2 } from 'lucide-react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { Markdown } from '../../components/markdown.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { Acceptance } from './acceptance.tsx'
import { Comments } from './comments.tsx'
import { Fields } from './fields.tsx'
import { HoldBox } from './hold.tsx'
import { Met, MetBox } from './met.tsx'
import { type Act, useAct, useChange, useRemove } from './queries.ts'
import { Level, Section } from './section.tsx'
import { Ties } from './ties.tsx'
import { Description, Title } from './titles.tsx'
import { EvidenceTrail, History } from './trail.tsx'
import { words } from './words.ts'

interface Props {
  task: TaskDetail
  level: 1 | 2
  /** Leaves the task, which was deleted. */
  onGone(): void
}

export const TaskBody = ({ task, level, onGone }: Props) => (
  <Level value={level}>
    <Body task={task} onGone={onGone} />
  </Level>
)

type May = (action: keyof TaskDetail['can']) => boolean

function Body({ task, onGone }: Omit<Props, 'level'>) {
  const change = useChange(task)
  const act = useAct(task)
  const may: May = (action) => task.can[action] === true
  const error = change.error ?? act.error
  return (
    <div className="body">
      <div className="txt">
        <Title task={task} may={may('update')} onChange={(title) => change.mutate({ title })} />
        <Description task={task} may={may('update')} onChange={(description) => change.mutate({ description })} />
        {error instanceof Met ? (
          <MetBox met={error} onMine={change.mutate} onTheirs={change.reset} />
        ) : (
          error && <ProblemBox error={error} />
        )}
        {task.lease && <HoldBox task={task} may={may} onAct={act.mutate} busy={act.isPending} />}
        <Acceptance
          criteria={task.acceptance}
          may={may('update')}
          onChange={(acceptance) => change.mutate({ acceptance })}
        />
        <Ties task={task} may={may('update')} onWaitsFor={(blockedBy) => change.mutate({ blockedBy })} />
        {task.completionNotes && (
          <Section title={words.notes}>
            <Markdown text={task.completionNotes} />
          </Section>
        )}
        <EvidenceTrail evidence={task.evidence} />
        <Comments task={task} may={may('comment')} />
        <History task={task} />
      </div>
      <Fields task={task} may={may('update')} onChange={change.mutate}>
        <Acts task={task} may={may} busy={act.isPending} onAct={act.mutate} onGone={onGone} />
      </Fields>
    </div>
  )
}

interface ActsProps {
  task: TaskDetail
  may: May
  busy: boolean
  onAct(act: Act): void
  onGone(): void
}

function Acts({ task, may, busy, onAct, onGone }: ActsProps) {
  const remove = useRemove(task, onGone)
  return (
    <div className="stack">
      {!task.lease && may('claim') && (
        <button type="button" className="btn" disabled={busy} onClick={() => onAct('claim')}>
          {words.claim}
        </button>
      )}
      {may('complete') && task.status !== 'done' && (
        <button type="button" className="btn main" disabled={busy} onClick={() => onAct('complete')}>
          {words.complete}
        </button>
      )}
      {may('remove') && (
        <button type="button" className="btn quiet" disabled={remove.isPending} onClick={() => remove.mutate()}>
          <Trash2 className="i s14" aria-hidden />
          {words.remove}
        </button>
      )}
      {remove.error && <ProblemBox error={remove.error} />}
    </div>
  )
}
