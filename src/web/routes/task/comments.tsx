import { Pencil, X } from 'lucide-react'
import { useState } from 'react'
import type { Comment, TaskDetail } from '../../../features/tasks/schema.ts'
import { newIdempotencyKey } from '../../api.ts'
import { Avatar } from '../../components/avatar.tsx'
import { Confirm } from '../../components/form/confirm.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { ago, dayAndTime } from '../../lib/times.ts'
import { NotSent } from '../../waiting/waiting-edits.tsx'
import { NewComment } from '../../writing/comment-form.tsx'
import { useFileStore } from '../../writing/file-stores.ts'
import { TextForm } from '../../writing/text-form.tsx'
import { useCommentChange, useCommentTask } from './queries.ts'
import { TaskSection } from './section.tsx'
import { words } from './words.ts'

export function TaskComments({ task, may }: { task: TaskDetail; may: boolean }) {
  if (task.comments.length === 0 && !may) return null
  return (
    <TaskSection title={words.comments} n={task.comments.length || undefined}>
      <ul className="stack s4">
        {task.comments.map((comment) => (
          <OneComment key={comment.id} task={task} comment={comment} />
        ))}
      </ul>
      {may && <AddComment task={task} />}
    </TaskSection>
  )
}

function OneComment({ task, comment }: { task: TaskDetail; comment: Comment }) {
  const [editing, setEditing] = useState(false)
  const [removing, setRemoving] = useState(false)
  const { mutate, error } = useCommentChange(task)
  return (
    <li className="msg">
      <Avatar party={comment.author} size="m" />
      <span className="who">
        <b>{comment.author.name}</b>
        <time className="soft t12" dateTime={comment.createdAt} title={dayAndTime(comment.createdAt)}>
          {ago(comment.createdAt)}
        </time>
        {comment.asks && <span className="flag accent">{words.asks}</span>}
        <NotSent id={comment.id} />
        {comment.editedAt && <span className="soft t12">{words.edited}</span>}
        {comment.can?.updateComment === true && (
          <button type="button" className="ib s24" aria-label={words.editComment} onClick={() => setEditing(true)}>
            <Pencil className="i s14" aria-hidden />
          </button>
        )}
        {comment.can?.removeComment === true && (
          <button type="button" className="ib s24" aria-label={words.deleteComment} onClick={() => setRemoving(true)}>
            <X className="i s14" aria-hidden />
          </button>
        )}
      </span>
      {editing ? (
        <TextForm
          label={words.editComment}
          value={comment.body}
          rows={3}
          maxLength={20_000}
          onSave={(text) =>
            text.trim() !== '' && text !== comment.body && mutate({ id: comment.id, body: text.trim() })
          }
          onClose={() => setEditing(false)}
        />
      ) : (
        <Markdown text={comment.body} />
      )}
      {error && <ProblemBox error={error} />}
      {removing && (
        <Confirm
          title={words.deleteComment}
          verb={words.remove}
          cancel={words.cancel}
          onConfirm={() => {
            mutate({ id: comment.id, remove: true })
            setRemoving(false)
          }}
          onClose={() => setRemoving(false)}
        >
          <p>{words.sure}</p>
        </Confirm>
      )}
    </li>
  )
}

function AddComment({ task }: { task: TaskDetail }) {
  const [key, setKey] = useState(newIdempotencyKey)
  const { mutate, isPending, error } = useCommentTask(task)
  const send = (body: string, done: () => void) =>
    mutate(
      { body, key },
      {
        onSuccess: () => {
          done()
          setKey(newIdempotencyKey())
        },
      },
    )
  return (
    <NewComment
      about={`task ${task.id}`}
      label={words.write}
      placeholder={words.writeHint}
      submit={words.comment}
      busy={isPending}
      store={useFileStore({ kind: 'task', id: task.id })}
      onSend={send}
    >
      {error && <ProblemBox error={error} />}
    </NewComment>
  )
}
