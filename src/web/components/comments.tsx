/** Comments, and a field for the next one. */
import { type ReactNode, useState } from 'react'
import type { UserOrAgent } from '../../records/user-or-agent.ts'
import { ago, dayAndTime } from '../lib/times.ts'
import { Avatar } from './avatar.tsx'
import { Markdown } from './text/markdown.tsx'

export interface CommentItem {
  id: string
  author: UserOrAgent
  body: string
  createdAt: string
  /** Shown beside the name. */
  flag?: ReactNode
}

export const CommentList = ({ remarks }: { remarks: readonly CommentItem[] }) =>
  remarks.length > 0 && (
    <ul className="stack s4">
      {remarks.map((remark) => (
        <li key={remark.id} className="msg">
          <Avatar party={remark.author} size="m" />
          <span className="who">
            <b>{remark.author.name}</b>
            {remark.flag}
            <time className="soft t12" dateTime={remark.createdAt} title={dayAndTime(remark.createdAt)}>
              {ago(remark.createdAt)}
            </time>
          </span>
          {remark.body !== '' && <Markdown text={remark.body} />}
        </li>
      ))}
    </ul>
  )

interface ComposeProps {
  label: string
  submit: string
  maxLength: number
  busy: boolean
  /** Calls `done` once the server has the text, which stays in the field until then. */
  onSend(body: string, done: () => void): void
  /** Why the last one was refused. */
  children?: ReactNode
}

export function CommentForm({ label, submit, maxLength, busy, onSend, children }: ComposeProps) {
  const [text, setText] = useState('')
  const send = () => {
    if (!busy && text.trim() !== '') onSend(text.trim(), () => setText(''))
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
        aria-label={label}
        placeholder={label}
        value={text}
        maxLength={maxLength}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {children}
      <span className="row">
        <span className="grow" />
        <button type="submit" className="btn small" disabled={busy || text.trim() === ''}>
          {submit}
        </button>
      </span>
    </form>
  )
}
