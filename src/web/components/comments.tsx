/** Comments, and a field for the next one. */
import type { ReactNode } from 'react'
import type { UserOrAgent } from '../../records/user-or-agent.ts'
import { ago, dayAndTime } from '../lib/times.ts'
import { Avatar } from './avatar.tsx'
import type { CompletionSources } from './text/completions.tsx'
import { Editor } from './text/editor.tsx'
import type { FileStore } from './text/files.tsx'
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
  placeholder?: string
  submit: string
  maxLength: number
  busy: boolean
  text: string
  onText(text: string): void
  complete?: CompletionSources
  store?: FileStore | undefined
  /** Calls `done` once the server has the text, which stays in the field until then. */
  onSend(body: string, done: () => void): void
  /** Why the last one was refused. */
  children?: ReactNode
}

export function CommentForm({ submit, busy, text, onText, onSend, children, ...editor }: ComposeProps) {
  const send = () => {
    if (!busy && text.trim() !== '') onSend(text.trim(), () => onText(''))
  }
  return (
    <form
      className="stack s1"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <Editor placeholder={editor.label} {...editor} value={text} onChange={onText} rows={2} bar="foot">
        <button type="submit" className="btn small" disabled={busy || text.trim() === ''}>
          {submit}
        </button>
      </Editor>
      {children}
    </form>
  )
}
