/** Text that is edited in place. Enter or leaving the field saves it; Escape does not. */
import { type ReactNode, useRef, useState } from 'react'

interface FieldProps {
  label: string
  value: string
  /** Called only with a text that differs. */
  onSave(text: string): void
  /** The field was left, by a key or otherwise. */
  onDone(byKey: boolean): void
  /** An empty text is saved too; otherwise it leaves things as they were. */
  clears?: boolean
  className?: string
  type?: 'date' | 'text' | 'number'
  placeholder?: string | undefined
  maxLength?: number
}

/** Only the field, for rows that decide themselves when they are edited. */
export function InlineField({ label, value, onSave, onDone, clears, ...shape }: FieldProps) {
  // A field that is removed may lose the focus once more.
  const left = useRef(false)
  const leave = (text: string, byKey: boolean) => {
    if (left.current) return
    left.current = true
    onDone(byKey)
    if (text !== value && (clears || text !== '')) onSave(text)
  }
  return (
    <input
      className="input slim grow"
      aria-label={label}
      defaultValue={value}
      {...shape}
      ref={(field) => field?.focus()}
      onBlur={(event) => leave(event.currentTarget.value.trim(), false)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') {
          // The focus goes back to the button, which the same key press would press.
          event.preventDefault()
          leave(event.currentTarget.value.trim(), true)
        }
        if (event.key === 'Escape') leave(value, true)
      }}
    />
  )
}

interface EditProps extends Omit<FieldProps, 'onDone' | 'className'> {
  may: boolean
  /** The classes of the button that begins the editing, and of the field. Default: those of a value in a list. */
  look?: { button: string; field: string }
  /** Says on the button what it does. Default: the label, read out before the text. */
  hint?: string
  /** The key that presses the button, if the page has one. */
  hot?: string | undefined
  /** What is around the text while no one edits it, such as a heading. */
  around?(text: ReactNode): ReactNode
  /** How the text looks. Default: as it is. */
  children?: ReactNode
}

const value = { button: 'row tight wrap', field: 'input slim' }
/** A title, which is a heading. */
export const titleLook = { button: 'inline', field: 'input h1 grow' }

/** A text that becomes a field on a click. The focus returns to it when a key ends the editing. */
export function InlineEdit({ may, look = value, hint, hot, around, children, ...field }: EditProps) {
  const [editing, setEditing] = useState(false)
  const returning = useRef(false)
  if (editing)
    return (
      <InlineField
        {...field}
        className={look.field}
        onDone={(byKey) => {
          returning.current = byKey
          setEditing(false)
        }}
      />
    )
  const shown = children ?? field.value
  const text = may ? (
    <button
      type="button"
      className={look.button}
      title={hint}
      data-key={hot}
      onClick={() => setEditing(true)}
      ref={(button) => {
        if (returning.current) button?.focus()
        returning.current = false
      }}
    >
      {!hint && <span className="hide">{field.label}: </span>}
      {shown}
    </button>
  ) : (
    shown
  )
  return around ? around(text) : text
}
