import { useState } from 'react'
import { words } from './words.ts'

interface Props {
  label: string
  longest: number
  onAdd(text: string): void
}

/** A field that adds a line to a list of the task. */
export function AddLineForm({ label, longest, onAdd }: Props) {
  const [text, setText] = useState('')
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() === '') return
        onAdd(text.trim())
        setText('')
      }}
    >
      <input
        className="input slim grow"
        aria-label={label}
        placeholder={label}
        value={text}
        maxLength={longest}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {text.trim() !== '' && (
        <button type="submit" className="btn small">
          {words.add}
        </button>
      )}
    </form>
  )
}
