import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { newIdempotencyKey, ok, tasks, writeOptions } from '../../api.ts'
import { CommentList } from '../../components/comments.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { toast } from '../../components/toasts.tsx'
import { taskQuery } from '../task/queries.ts'
import { PreviewHeading } from './heading.tsx'
import { AnswerField, LoadedRecord, type PreviewProps } from './preview-parts.tsx'
import { words } from './words.ts'

export const TaskPreview = ({ notification, id, onSettled }: PreviewProps) => (
  <LoadedRecord found={useQuery(taskQuery(id))}>
    {(task) => (
      <>
        <div className="inbody stack s4">
          <PreviewHeading notification={notification} title={task.title} />
          {task.description && <Markdown text={task.description} />}
          <CommentList
            remarks={task.comments.map((comment) => ({
              ...comment,
              flag: comment.asks && <span className="flag agent">{words.question}</span>,
            }))}
          />
        </div>
        <Answer task={task} reason={notification.reason} onSettled={onSettled} />
      </>
    )}
  </LoadedRecord>
)

/** A comment is the answer. What is typed stays until the server has it. */
function Answer({ task, reason, onSettled }: { task: TaskDetail; reason: string; onSettled(): void }) {
  const cache = useQueryClient()
  const [text, setText] = useState('')
  const [key, setKey] = useState(newIdempotencyKey)
  const refresh = () =>
    Promise.all([
      cache.invalidateQueries({ queryKey: ['task'] }),
      cache.invalidateQueries({ queryKey: ['tasks'] }),
      cache.invalidateQueries({ queryKey: ['notifications'] }),
    ])
  const comment = useMutation({
    mutationFn: (body: string) =>
      ok(tasks.tasks({ id: task.id }).comments.post({ body }, writeOptions(undefined, key))),
    onSuccess: () => {
      setText('')
      setKey(newIdempotencyKey())
      toast({ title: words.sent, text: task.title })
      if (reason === 'question') onSettled()
    },
    onSettled: refresh,
  })
  const takeOver = useMutation({
    mutationFn: () => ok(tasks.tasks({ id: task.id }).patch({ assignee: 'me' }, writeOptions(task.version))),
    onSuccess: () => {
      toast({ title: words.takenOver(task.key) })
      onSettled()
    },
    onSettled: refresh,
  })
  if (task.can.comment !== true) return null
  const send = () => {
    if (text.trim() !== '' && !comment.isPending) comment.mutate(text.trim())
  }
  const error = comment.error ?? takeOver.error
  const asked = reason === 'question'
  return (
    <footer className="inact">
      {error && <ProblemBox error={error} />}
      <AnswerField label={words.answerHere} text={text} onText={setText} onSend={send} />
      {reason === 'stalled' && task.can.update === true && (
        <button type="button" className="btn" disabled={takeOver.isPending} onClick={() => takeOver.mutate()}>
          {words.takeOver}
        </button>
      )}
      <button type="button" className="btn main" disabled={text.trim() === '' || comment.isPending} onClick={send}>
        {asked ? words.answer : words.comment}
      </button>
    </footer>
  )
}
