import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Notification } from '../../../features/notifications/schema.ts'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { change, newKey, ok, tasks } from '../../api.ts'
import { Markdown } from '../../components/markdown.tsx'
import { Avatar } from '../../components/party.tsx'
import { AfterAMoment, ProblemBox, Skeleton } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { ago, dayAndTime } from '../../times.ts'
import { taskQuery } from '../task/queries.ts'
import { Field } from './field.tsx'
import { Heading } from './preview.tsx'
import { words } from './words.ts'

export interface AboutProps {
  notification: Notification
  id: string
  onSettled(): void
}

export function TaskPreview({ notification, id, onSettled }: AboutProps) {
  const { data: task, error } = useQuery(taskQuery(id))
  if (error && !task)
    return (
      <div className="inbody">
        <ProblemBox error={error} />
      </div>
    )
  if (!task)
    return (
      <AfterAMoment>
        <div className="inbody">
          <Skeleton />
        </div>
      </AfterAMoment>
    )
  return (
    <>
      <div className="inbody stack s4">
        <Heading notification={notification} title={task.title} />
        {task.description && <Markdown text={task.description} />}
        {task.comments.map((comment) => (
          <div key={comment.id} className="msg">
            <Avatar party={comment.author} size="m" />
            <div className="who">
              <b>{comment.author.name}</b>
              {comment.asks && <span className="flag agent">{words.question}</span>}
              <time className="soft t12" dateTime={comment.createdAt} title={dayAndTime(comment.createdAt)}>
                {ago(comment.createdAt)}
              </time>
            </div>
            <Markdown text={comment.body} />
          </div>
        ))}
      </div>
      <Answer task={task} reason={notification.reason} onSettled={onSettled} />
    </>
  )
}

/** A comment is the answer. What is typed stays until the server has it. */
function Answer({ task, reason, onSettled }: { task: TaskDetail; reason: string; onSettled(): void }) {
  const cache = useQueryClient()
  const [text, setText] = useState('')
  const [key, setKey] = useState(newKey)
  const refresh = () =>
    Promise.all([
      cache.invalidateQueries({ queryKey: ['task'] }),
      cache.invalidateQueries({ queryKey: ['tasks'] }),
      cache.invalidateQueries({ queryKey: ['notifications'] }),
    ])
  const comment = useMutation({
    mutationFn: (body: string) => ok(tasks.tasks({ id: task.id }).comments.post({ body }, change(undefined, key))),
    onSuccess: () => {
      setText('')
      setKey(newKey())
      toast({ title: words.sent, text: task.title })
      if (reason === 'question') onSettled()
    },
    onSettled: refresh,
  })
  const takeOver = useMutation({
    mutationFn: () => ok(tasks.tasks({ id: task.id }).patch({ assignee: 'me' }, change(task.version))),
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
      <Field label={words.answerHere} text={text} onText={setText} onSend={send} />
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
