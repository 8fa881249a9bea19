/** Adds tasks at the end of a column or a group. The field is loaded once its button is pointed at or reached. */
import { Plus } from 'lucide-react'
import { Suspense, useRef, useState } from 'react'
import { lazy } from '../../../lib/lazy.ts'
import { words } from '../words.ts'
import type { AddProps } from './values.ts'

const load = () => import('./add-field.tsx')
const AddField = lazy(load)
/** A failure here is harmless: opening the field tries again. */
const loadAhead = () => void load().catch(() => undefined)

interface Props extends AddProps {
  /** Tells whether the field is open. */
  onOpen?(open: boolean): void
}

export function AddTasks({ onOpen, ...props }: Props) {
  const [isOpen, setOpen] = useState(false)
  /** Text that was not added stays for the next time. */
  const [title, setTitle] = useState('')
  const button = useRef<HTMLButtonElement>(null)
  const show = (open: boolean) => {
    setOpen(open)
    onOpen?.(open)
  }
  const leave = (isByKey: boolean) => {
    show(false)
    if (isByKey) requestAnimationFrame(() => button.current?.focus())
  }
  const closed = (
    <button
      ref={button}
      type="button"
      className="addrow"
      // No hidden text: out of the flow, it would lengthen the board below a long column.
      aria-label={words.addTo(props.name)}
      onPointerEnter={loadAhead}
      onFocus={loadAhead}
      onClick={() => show(true)}
    >
      <Plus className="i s14" aria-hidden />
      {words.add}
    </button>
  )
  if (!isOpen) return closed
  return (
    <Suspense fallback={<EarlyField name={props.name} title={title} onTitle={setTitle} />}>
      <AddField {...props} title={title} onTitle={setTitle} onLeave={leave} />
    </Suspense>
  )
}

interface EarlyProps {
  name: string
  title: string
  onTitle(title: string): void
}

/** Takes what is typed until the field is loaded: else the letters would be shortcuts of the page. */
const EarlyField = ({ name, title, onTitle }: EarlyProps) => (
  <div className="addcard">
    <textarea
      ref={focusField}
      className="addinput"
      aria-label={words.addTo(name)}
      value={title}
      onChange={({ target }) => onTitle(target.value)}
    />
  </div>
)

const focusField = (field: HTMLElement | null): void => field?.focus({ preventScroll: true })
