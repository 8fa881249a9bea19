import { useState } from 'react'
import { Dialog } from '../../components/form/dialog.tsx'
import { Editor } from '../../components/text/editor.tsx'
import { useCompletionSources } from '../../writing/completion-sources.tsx'
import { words } from './words.ts'

/** A comment on the task that someone holds; its holder reads it with the task. */
export function CommentDialog({
  title,
  onSend,
  onClose,
}: {
  title: string
  onSend(text: string): void
  onClose(): void
}) {
  const [text, setText] = useState('')
  const complete = useCompletionSources()
  const send = () => text.trim() !== '' && onSend(text.trim())
  return (
    <Dialog title={title} open onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          send()
        }}
      >
        <Editor
          label={words.comment}
          rows={4}
          maxLength={20_000}
          value={text}
          onChange={setText}
          complete={complete}
          bar="foot"
        />
        <span className="row">
          <span className="grow" />
          <button type="button" className="btn" onClick={onClose}>
            {words.cancel}
          </button>
          <button type="submit" className="btn main" disabled={text.trim() === ''}>
            {words.send}
          </button>
        </span>
      </form>
    </Dialog>
  )
}
