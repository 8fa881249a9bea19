import { useState } from 'react'
import type { MemoryRead } from '../../../features/memory/schema.ts'
import { Field } from '../../components/form/fields.tsx'
import { splitList } from '../../components/form/form.tsx'
import { Editor } from '../../components/text/editor.tsx'
import { words } from './words.ts'

interface Fields {
  content: string
  title: string | null
  tags: string[]
  importance: number
}

interface Props {
  memory: MemoryRead
  submit: string
  busy: boolean
  onSave(fields: Fields): void
  onCancel?(): void
}

/** The fields of a memory, to change it or to store another one instead. */
export function MemoryForm({ memory, submit, busy, onSave, onCancel }: Props) {
  const [content, setContent] = useState(memory.content)
  const [title, setTitle] = useState(memory.title ?? '')
  const [tags, setTags] = useState(memory.tags.join(', '))
  const [importance, setImportance] = useState(memory.importance)
  const save = () => onSave({ content, title: title.trim() || null, tags: splitList(tags), importance })
  return (
    <form
      className="stack s4"
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <Field label={words.memoryTitle} value={title} maxLength={200} onText={setTitle} />
      <Editor value={content} onChange={setContent} label={words.content} maxLength={32_768} rows={8} onSave={save} />
      <Field label={words.tags} value={tags} onText={setTags} />
      <label className="field">
        <span>
          {words.importance} {Math.round(importance * 100)} %
        </span>
        <input
          type="range"
          min={0}
          max={1}
          step={0.05}
          value={importance}
          onChange={(event) => setImportance(Number(event.currentTarget.value))}
        />
      </label>
      <p className="row">
        <button type="submit" className="btn main" disabled={busy || content.trim() === ''}>
          {submit}
        </button>
        {onCancel && (
          <button type="button" className="btn quiet" onClick={onCancel}>
            {words.cancel}
          </button>
        )}
      </p>
    </form>
  )
}
