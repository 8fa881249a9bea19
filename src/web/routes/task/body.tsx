/** What a task says, and what may be done with it. The server says what that is, in `can`. */
import { Trash2 } from 'lucide-react'
import { Suspense } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { CheckpointFields } from '../../components/checkpoint.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { lazy } from '../../lib/lazy.ts'
import { dayAndTime } from '../../lib/times.ts'
import { FileTiles } from '../../writing/record-files.tsx'
import { Acceptance } from './acceptance.tsx'
import { TaskActions } from './actions.tsx'
import { ClaimBox } from './claim-box.tsx'
import { TaskComments } from './comments.tsx'
import { TaskDescription } from './description.tsx'
import { EditConflict } from './edit-conflict.ts'
import { TaskEvidenceList, TaskHistory } from './evidence-history.tsx'
import { TaskFields } from './fields.tsx'
import { useChangeTask, useRelateTask, useRemoveTask, useTaskAct, useVerifyEvidence } from './queries.ts'
import { TaskLinks, TaskRelations } from './relations.tsx'
import { HeadingLevel, TaskSection } from './section.tsx'
import { TaskTitle } from './title.tsx'
import { words } from './words.ts'

const EditConflictBox = lazy(async () => ({ default: (await import('./edit-conflict-box.tsx')).EditConflictBox }))

interface Props {
  task: TaskDetail
  level: 1 | 2
  /** Leaves the task, which was deleted. */
  onGone(): void
}

export const TaskBody = ({ task, level, onGone }: Props) => (
  <HeadingLevel value={level}>
    <Body task={task} onGone={onGone} />
  </HeadingLevel>
)

type May = (action: keyof TaskDetail['can']) => boolean

function Body({ task, onGone }: Omit<Props, 'level'>) {
  const change = useChangeTask(task)
  const act = useTaskAct(task)
  const relate = useRelateTask(task)
  const verify = useVerifyEvidence(task)
  const may: May = (action) => task.can[action] === true
  const { lastCheckpoint: checkpoint } = task
  const error = change.error ?? act.error ?? relate.error ?? verify.error
  return (
    <div className="body">
      <div className="txt">
        <TaskTitle task={task} may={may('update')} onChange={(title) => change.mutate({ title })} />
        <TaskDescription task={task} may={may('update')} />
        <FileTiles holder={{ kind: 'task', id: task.id }} may={may('update')} />
        {error instanceof EditConflict ? (
          <Suspense>
            <EditConflictBox met={error} onMine={change.mutate} onTheirs={change.reset} />
          </Suspense>
        ) : (
          error && <ProblemBox error={error} />
        )}
        {task.lease && <ClaimBox task={task} may={may} onAct={act.mutate} busy={act.isPending} />}
        {checkpoint && (
          <TaskSection
            title={words.lastCheckpoint}
            n={words.savedBy(checkpoint.author.name, dayAndTime(checkpoint.at))}
          >
            <CheckpointFields checkpoint={checkpoint} />
          </TaskSection>
        )}
        <Acceptance
          criteria={task.acceptance}
          may={may('update')}
          onChange={(acceptance) => change.mutate({ acceptance })}
        />
        <TaskRelations
          task={task}
          may={{ update: may('update'), relate: may('relate') }}
          onChange={change.mutate}
          onRelate={(other, related) => relate.mutate({ other, related })}
        />
        <TaskLinks links={task.links} />
        {task.completionNotes && (
          <TaskSection title={words.notes}>
            <Markdown text={task.completionNotes} />
          </TaskSection>
        )}
        <TaskEvidenceList
          evidence={task.evidence}
          may={{ add: may('update'), verify: may('verify') }}
          busy={verify.isPending}
          onAdd={(line) => change.mutate({ evidence: [line] })}
          onVerify={verify.mutate}
        />
        <TaskComments task={task} may={may('comment')} />
        <TaskHistory task={task} />
        {may('remove') && <Remove task={task} onGone={onGone} />}
      </div>
      <TaskFields task={task} may={may('update')} onChange={change.mutate}>
        <TaskActions
          task={task}
          busy={act.isPending}
          onAct={act.mutate}
          onWaitsFor={may('update') ? (blockedBy) => change.mutate({ blockedBy }) : undefined}
        />
      </TaskFields>
    </div>
  )
}

function Remove({ task, onGone }: Omit<Props, 'level'>) {
  const { mutate, error, isPending } = useRemoveTask(task, onGone)
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
