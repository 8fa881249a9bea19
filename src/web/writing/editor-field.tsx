/** The editor as a field of a form, which sends its text by name. */
import { useState } from 'react'
import { Editor } from '../components/text/editor.tsx'
import { useCompletionSources } from './completion-sources.tsx'

interface Props {
  label: string
  name: string
  rows: number
  maxLength: number
  required?: boolean
  defaultValue?: string | undefined
}

export function EditorField({ label, defaultValue = '', ...editor }: Props) {
  const [text, setText] = useState(defaultValue)
  const complete = useCompletionSources()
  return (
    <div className="field">
      <span aria-hidden>{label}</span>
      <Editor {...editor} label={label} value={text} onChange={setText} complete={complete} />
    </div>
  )
}
