/** The field for the next comment. Its draft stays on this device until the server has the comment. */
import type { ReactNode } from 'react'
import { CommentForm } from '../components/comments.tsx'
import type { FileStore } from '../components/text/files.tsx'
import { useCompletionSources } from './completion-sources.tsx'
import { useSentDraft } from './text-draft.ts'

interface Props {
  /** The record that is commented on, such as `task 5f0c…`. */
  about: string
  label: string
  placeholder: string
  submit: string
  busy: boolean
  store?: FileStore
  /** Calls `done` once the server has the text, which stays in the field until then. */
  onSend(body: string, done: () => void): void
  /** Why the last one was refused. */
  children?: ReactNode
}

export function NewComment({ about, ...form }: Props) {
  const [text, setText] = useSentDraft(`comment on ${about}`)
  const complete = useCompletionSources()
  return <CommentForm {...form} maxLength={20_000} text={text} onText={setText} complete={complete} />
}
