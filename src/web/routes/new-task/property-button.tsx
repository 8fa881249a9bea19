/** A property of a new task: what it is, and how it is changed by a menu, a field or a picker. */
import { type ReactNode, useRef, useState } from 'react'
import { InlineField } from '../../components/form/inline-edit.tsx'
import { Menu, type MenuEntry } from '../../components/menu.tsx'

interface Props {
  name: string
  /** The key that opens it in the row of properties. */
  hot?: string
  icon: ReactNode
  /** What it is set to; nothing if it is not set. */
  value: ReactNode
}

const look = (value: ReactNode): string => (value ? 'pchip set' : 'pchip')

const Content = ({ name, icon, value }: Omit<Props, 'hot'>) => (
  <>
    {icon}
    {value && <span className="hide">{name}: </span>}
    {value || name}
  </>
)

interface MenuProps extends Props {
  entries: readonly MenuEntry[]
  onChoose(value: string): void
  /** Someone is about to open the list. */
  onNear?(): void
}

export const PropertyMenu = ({ hot, entries, onChoose, onNear, ...property }: MenuProps) => (
  <Menu
    trigger={
      <button type="button" className={look(property.value)} data-key={hot}>
        <Content {...property} />
      </button>
    }
    onNear={onNear}
    entries={entries}
    onChoose={onChoose}
  />
)

interface FieldProps extends Props {
  type: 'text' | 'date' | 'number'
  text: string
  placeholder?: string
  onText(text: string): void
}

/** The focus returns to the button when a key ends the editing. */
export function PropertyField({ hot, type, text, placeholder, onText, ...property }: FieldProps) {
  const [editing, setEditing] = useState(false)
  const returning = useRef(false)
  if (editing)
    return (
      <InlineField
        label={property.name}
        className="input slim pfield"
        type={type}
        value={text}
        placeholder={placeholder}
        clears
        onSave={onText}
        onDone={(byKey) => {
          returning.current = byKey
          setEditing(false)
        }}
      />
    )
  return (
    <button
      type="button"
      className={look(property.value)}
      data-key={hot}
      onClick={() => setEditing(true)}
      ref={(button) => {
        if (returning.current) button?.focus()
        returning.current = false
      }}
    >
      <Content {...property} />
    </button>
  )
}

/** Opens a picker at the button. */
export const PropertyPickerButton = ({ hot, onOpen, ...property }: Props & { onOpen(anchor: Element): void }) => (
  <button
    type="button"
    className={look(property.value)}
    data-key={hot}
    aria-haspopup="dialog"
    onClick={({ currentTarget }) => onOpen(currentTarget)}
  >
    <Content {...property} />
  </button>
)
