/** What the pages of the settings are made of. */
import type { ReactNode } from 'react'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { RetryButton } from '../../frame/errors.tsx'
import { words } from './words.ts'

export function SettingsSheet({ title, about, children }: { title: string; about?: ReactNode; children: ReactNode }) {
  useCrumbs({ label: words.settings, to: '/settings/profile' }, { label: title })
  return (
    <div className="stack s5">
      <header>
        <h1 className="h1">{title}</h1>
        {about && <p className="soft">{about}</p>}
      </header>
      {children}
    </div>
  )
}

interface FormProps {
  verb: string
  busy: boolean
  error: Error | null
  /** What was done, said to those who listen too. */
  done?: string | undefined
  onSave(fields: Record<string, string>, form: HTMLFormElement): void
  children: ReactNode
}

/** A form that gives its fields as texts, without the spaces around them. */
export const Form = ({ verb, busy, error, done, onSave, children }: FormProps) => (
  <form
    className="stack s4 setform"
    onSubmit={(event) => {
      event.preventDefault()
      const fields = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)])
      onSave(Object.fromEntries(fields), event.currentTarget)
    }}
  >
    {children}
    {error && <ProblemBox error={error} />}
    <p className="row">
      <button type="submit" className="btn main" disabled={busy}>
        {verb}
      </button>
      <span className="soft t12" role="status">
        {done}
      </span>
    </p>
  </form>
)

interface ItemsProps<T> {
  items: readonly T[] | undefined
  error: Error | null
  item(one: T): ReactNode
  label: string
}

/** A short list, with its states. */
export function ItemList<T extends { id: string }>({ items, error, item, label }: ItemsProps<T>) {
  if (error && !items)
    return (
      <ProblemBox error={error}>
        <RetryButton />
      </ProblemBox>
    )
  if (!items) return <Waiting />
  if (items.length === 0) return <p className="soft">{words.none}</p>
  return (
    <ul className="sheet" aria-label={label}>
      {items.map((one) => (
        <li key={one.id} className="setrow">
          {item(one)}
        </li>
      ))}
    </ul>
  )
}

/** The name of an item and what else is known of it. */
export const ItemLine = ({
  name,
  facts,
}: {
  name: ReactNode
  facts: readonly (string | false | null | undefined)[]
}) => (
  <span className="grow stack s0">
    <b className="b5 cut">{name}</b>
    <span className="soft t12 wrapany">{facts.filter(Boolean).join(' · ')}</span>
  </span>
)
