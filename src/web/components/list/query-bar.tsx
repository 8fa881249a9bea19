/** The filters of a list: a menu, a search field, and a chip for each active filter. */
import { ListFilter, X } from 'lucide-react'
import { words } from '../../words.ts'
import { LazyMenu } from '../lazy-menu.tsx'

export interface FilterChoice {
  /** The name of the filter in the address. */
  name: string
  label: string
  values: readonly { value: string; label: string }[]
  chosen: string | undefined
}

interface Props {
  filters: readonly FilterChoice[]
  /** The words to find; left out where the list cannot be searched. */
  find?: { label: string; text: string | undefined }
  onChange(change: Record<string, string | undefined>): void
}

export function QueryBar({ filters, find, onChange }: Props) {
  const button = (
    <button type="button" className="btn quiet small">
      <ListFilter className="i s14" aria-hidden />
      {words.filter}
    </button>
  )
  const entries = filters.flatMap(({ name, label, values, chosen }) =>
    values.map((one) => ({
      value: `${name}=${one.value}`,
      label: filters.length > 1 ? `${label}: ${one.label}` : one.label,
      chosen: one.value === chosen,
    })),
  )
  const choose = (entry: string) => {
    const [name = '', value = ''] = [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]
    const before = filters.find((filter) => filter.name === name)?.chosen
    onChange({ [name]: before === value ? undefined : value })
  }
  return (
    <>
      {entries.length > 0 && <LazyMenu trigger={button} entries={entries} onChoose={choose} />}
      {find && (
        <form
          role="search"
          onSubmit={(event) => {
            event.preventDefault()
            const q = new FormData(event.currentTarget).get('q')
            onChange({ q: typeof q === 'string' && q.trim() !== '' ? q.trim() : undefined })
          }}
        >
          <input
            key={find.text ?? ''}
            className="input slim"
            name="q"
            type="search"
            defaultValue={find.text}
            placeholder={find.label}
            aria-label={find.label}
          />
        </form>
      )}
      {filters
        .filter(({ chosen }) => chosen !== undefined)
        .map(({ name, label, values, chosen }) => {
          const value = values.find((one) => one.value === chosen)?.label ?? chosen ?? ''
          return (
            <button key={name} type="button" className="chip" onClick={() => onChange({ [name]: undefined })}>
              <span className="hide">{words.removeFilter} </span>
              <span>{label} </span>
              <b>{value}</b>
              <X className="i s12" aria-hidden />
            </button>
          )
        })}
    </>
  )
}
