import { Pencil, X } from 'lucide-react'
import { useState } from 'react'
import type { Comment, TaskDetail } from '../../../features/tasks/schema.ts'
import { newKey } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Markdown } from '../../components/markdown.tsx'
import { Avatar } from '../../components/party.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { ago, dayAndTime } from '../../times.ts'
import { useComment, useCommentChange } from './queries.ts'
import { Section } from './section.tsx'
import { words } from './words.ts'

export function Comments({ task, may }: { task: TaskDetail; may: boolean }) {
  if (task.comments.length === 0 && !may) return null
  return (
    <Section title={words.comments} n={task.comments.length || undefined}>
      <ul className="stack s4">
        {task.comments.map((comment) => (
          <OneComment key={comment.id} task={task} comment={comment} />
        ))}
      </ul>
      {may && <Compose task={task} />}
    </Section>
  )
}

function OneComment({ task, comment }: { task: TaskDetail; comment: Comment }) {
  const [draft, setDraft] = useState<string>()
  const [removing, setRemoving] = useState(false)
  const { mutate, error } = useCommentChange(task)
  const save = () => {
    if (draft && draft.trim() !== '' && draft !== comment.body) mutate({ id: comment.id, body: draft.trim() })
    setDraft(undefined)
  }
  return (
    <li className="msg">
      <Avatar party={comment.author} size="m" />
      <span className="who">
        <b>{comment.author.name}</b>
        <time className="soft t12" dateTime={comment.createdAt} title={dayAndTime(comment.createdAt)}>
          {ago(comment.createdAt)}
        </time>
        {comment.asks && <span className="flag accent">{words.asks}</span>}
        {comment.editedAt && <span className="soft t12">{words.edited}</span>}
        {comment.can?.updateComment === true && (
          <button
            type="button"
            className="ib s24"
            aria-label={words.editComment}
            onClick={() => setDraft(comment.body)}
          >
            <Pencil className="i s14" aria-hidden />
          </button>
        )}
        {comment.can?.removeComment === true && (
          <button type="button" className="ib s24" aria-label={words.deleteComment} onClick={() => setRemoving(true)}>
            <X className="i s14" aria-hidden />
          </button>
        )}
      </span>
      {draft === undefined ? (
        <Markdown text={comment.body} />
      ) : (
        <textarea
          className="input"
          rows={3}
          aria-label={words.editComment}
          value={draft}
          maxLength={20_000}
          onChange={(event) => setDraft(event.currentTarget.value)}
          onBlur={save}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) save()
            if (event.key === 'Escape') setDraft(undefined)
          }}
        />
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

/** The text stays until the server has it. */
function Compose({ task }: { task: TaskDetail }) {
  const [text, setText] = useState('')
  const [key, setKey] = useState(newKey)
  const comment = useComment(task)
  const done = () => {
    setText('')
    setKey(newKey())
  }
  const send = () => {
    if (!comment.isPending && text.trim() !== '') comment.mutate({ body: text.trim(), key }, { onSuccess: done })
  }
  return (
    <form
      className="compose"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        className="bare"
        rows={2}
        aria-label={words.write}
        placeholder={words.write}
        value={text}
        maxLength={20_000}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) send()
        }}
      />
      {comment.error && <ProblemBox error={comment.error} />}
      <span className="row">
        <span className="grow" />
        <button type="submit" className="btn small" disabled={comment.isPending || text.trim() === ''}>
          {words.comment}
        </button>
      </span>
    </form>
  )
}
