/** What a task says, and what may be done with it. The server says what that is, in `can`. */
import { Trash2 } from 'lucide-react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { CheckpointFields } from '../../components/checkpoint.tsx'
import { Markdown } from '../../components/markdown.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { dayAndTime } from '../../times.ts'
import { Acceptance } from './acceptance.tsx'
import { Comments } from './comments.tsx'
import { Fields } from './fields.tsx'
import { HoldBox } from './hold.tsx'
import { Met, MetBox } from './met.tsx'
import { type Act, useAct, useChange, useRelate, useRemove, useVerify } from './queries.ts'
import { Level, Section } from './section.tsx'
import { Links, Ties } from './ties.tsx'
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
  const relate = useRelate(task)
  const verify = useVerify(task)
  const may: May = (action) => task.can[action] === true
  const { lastCheckpoint: checkpoint } = task
  const error = change.error ?? act.error ?? relate.error ?? verify.error
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
        {checkpoint && (
          <Section title={words.lastCheckpoint} n={words.savedBy(checkpoint.author.name, dayAndTime(checkpoint.at))}>
            <CheckpointFields checkpoint={checkpoint} />
          </Section>
        )}
        <Acceptance
          criteria={task.acceptance}
          may={may('update')}
          onChange={(acceptance) => change.mutate({ acceptance })}
        />
        <Ties
          task={task}
          may={{ update: may('update'), relate: may('relate') }}
          onWaitsFor={(blockedBy) => change.mutate({ blockedBy })}
          onRelate={(other, related) => relate.mutate({ other, related })}
        />
        <Links links={task.links} />
        {task.completionNotes && (
          <Section title={words.notes}>
            <Markdown text={task.completionNotes} />
          </Section>
        )}
        <EvidenceTrail
          evidence={task.evidence}
          may={{ add: may('update'), verify: may('verify') }}
          busy={verify.isPending}
          onAdd={(line) => change.mutate({ evidence: [line] })}
          onVerify={verify.mutate}
        />
        <Comments task={task} may={may('comment')} />
        <History task={task} />
        {may('remove') && <Remove task={task} onGone={onGone} />}
      </div>
      <Fields task={task} may={may('update')} onChange={change.mutate}>
        <Acts task={task} may={may} busy={act.isPending} onAct={act.mutate} />
      </Fields>
    </div>
  )
}

interface ActsProps {
  task: TaskDetail
  may: May
  busy: boolean
  onAct(act: Act): void
}

function Acts({ task, may, busy, onAct }: ActsProps) {
  const canClaim = !task.lease && may('claim')
  const canComplete = may('complete') && task.status !== 'done'
  if (!canClaim && !canComplete) return null
  return (
    <div className="stack">
      {canClaim && (
        <button type="button" className="btn" disabled={busy} onClick={() => onAct('claim')}>
          {words.claim}
        </button>
      )}
      {canComplete && (
        <button type="button" className="btn main" disabled={busy} onClick={() => onAct('complete')}>
          {words.complete}
        </button>
      )}
    </div>
  )
}

function Remove({ task, onGone }: Omit<Props, 'level'>) {
  const { mutate, error, isPending } = useRemove(task, onGone)
  return (
    <div className="stack">
      <p>
        <button type="button" className="btn small quiet soft" disabled={isPending} onClick={() => mutate()}>
          <Trash2 className="i s14" aria-hidden />
          {words.remove}
        </button>
      </p>
      {error && <ProblemBox error={error} />}
    </div>
  )
}
