/** A text that is written in place: the editor with Save and Cancel. ⌘↵ saves; leaving the field does not. */
import { useState } from 'react'
import { Editor } from '../components/text/editor.tsx'
import type { FileStore } from '../components/text/files.tsx'
import { useCompletionSources } from './completion-sources.tsx'
import { words } from './words.ts'

interface Props {
  label: string
  value: string
  rows: number
  maxLength: number
  store?: FileStore
  onSave(text: string): void
  onClose(): void
}

export function TextForm({ label, value, rows, maxLength, store, onSave, onClose }: Props) {
  const [text, setText] = useState(value)
  const complete = useCompletionSources()
  const save = () => {
    onSave(text)
    onClose()
  }
  return (
    <Editor
      label={label}
      value={text}
      onChange={setText}
      rows={rows}
      maxLength={maxLength}
      isFocused
      complete={complete}
      store={store}
      onSave={save}
      onEscape={onClose}
    >
      <span className="grow" />
      <SaveButtons onSave={save} onCancel={onClose} />
    </Editor>
  )
}

export const SaveButtons = ({ onSave, onCancel }: { onSave(): void; onCancel(): void }) => (
  <>
    <button type="button" className="btn small quiet" onClick={onCancel}>
      {words.cancel}
    </button>
    <button type="button" className="btn small main" onClick={onSave}>
      {words.save}
    </button>
  </>
)
