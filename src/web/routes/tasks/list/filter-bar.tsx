/** The filters of the page as chips, one field that finds values of all kinds, and how many tasks match. */
import { Link as LinkIcon, ListFilter, Plus, X } from 'lucide-react'
import { type ReactNode, Suspense, useRef } from 'react'
import { Kbd } from '../../../components/status-bar.tsx'
import { toast } from '../../../components/toasts.tsx'
import { copyText } from '../../../lib/clipboard.ts'
import { lazy } from '../../../lib/lazy.ts'
import {
  addToFilter,
  type FilterName,
  filterNames,
  formatFilter,
  isNegatable,
  isUnfiltered,
  noFilters,
  parseFilter,
  type TaskSearch,
} from '../search.ts'
import { words } from '../words.ts'
import { type FilterEntry, filterText, useFilterEntries } from './filter-entries.ts'

const FilterPicker = lazy(() => import('./filter-picker.tsx'))

interface Props {
  scope: string
  search: TaskSearch
  /** How many tasks match, and how many there are, where that is known. */
  total: number | undefined
  of: number | undefined
  may: boolean
  picking: boolean
  onPicking(open: boolean): void
  onChange(change: Partial<TaskSearch>): void
  onSave(): void
}

export function FilterBar({ scope, search, total, of, may, picking, onPicking, onChange, onSave }: Props) {
  const isFiltered = !isUnfiltered(search)
  const entries = useFilterEntries(scope, picking || isFiltered)
  const button = useRef<HTMLButtonElement>(null)
  const copy = async () => {
    await copyText(location.href)
    toast({ title: words.copied })
  }
  return (
    <div className="querywrap">
      <div className="query" role="group" aria-label={words.filters.all}>
        <ListFilter className="i s14" aria-hidden />
        {filterNames
          .filter((name) => search[name] !== undefined)
          .map((name) => (
            <Chip key={name} name={name} search={search} entries={entries} onChange={onChange} />
          ))}
        <button
          ref={button}
          type="button"
          className="btn quiet small"
          aria-haspopup="dialog"
          aria-expanded={picking}
          onClick={() => onPicking(!picking)}
        >
          <Plus className="i s12" aria-hidden />
          {words.filter} <Kbd>f</Kbd>
        </button>
        {total !== undefined && (
          <span className="end soft" role="status">
            {isFiltered && of !== undefined ? words.nOf(total, of) : words.n(total)}
          </span>
        )}
        <button type="button" className="ib s24" aria-label={words.copyAddress} onClick={() => void copy()}>
          <LinkIcon className="i s14" aria-hidden />
        </button>
        {may && (
          <button type="button" className="btn small quiet" onClick={onSave}>
            {words.saved.save}
          </button>
        )}
        {isFiltered && (
          <button type="button" className="btn small quiet" onClick={() => onChange(noFilters)}>
            {words.clear}
          </button>
        )}
      </div>
      {picking && (
        <Suspense>
          <FilterPicker
            anchor={button}
            entries={entries}
            onAdd={(entry, isNot) => onChange(filterChange(search, entry, isNot))}
            onClose={() => onPicking(false)}
          />
        </Suspense>
      )}
    </div>
  )
}

/** The change of the address that adds a filter. */
function filterChange(search: TaskSearch, { name, value }: FilterEntry, isNot: boolean): Partial<TaskSearch> {
  if (isNegatable(name)) return { [name]: addToFilter(search[name], value, isNot) }
  return { [name]: name === 'leased' ? value === 'true' : value }
}

interface ChipProps {
  name: FilterName
  search: TaskSearch
  entries: readonly FilterEntry[]
  onChange(change: Partial<TaskSearch>): void
}

function Chip({ name, search, entries, onChange }: ChipProps): ReactNode {
  const text = filterText(name, search, entries)
  const { values, isNot } = parseFilter(String(search[name]))
  const label = words.filters[name]
  return (
    <span className="chip">
      <i>{label}</i>
      {isNegatable(name) && (
        <button
          type="button"
          className="op"
          aria-label={words.toggleNot(label, isNot)}
          onClick={() => onChange({ [name]: formatFilter({ values, isNot: !isNot }) })}
        >
          {words.is(isNot)}
        </button>
      )}
      <b className="cut">{text}</b>
      <button
        type="button"
        className="ib"
        aria-label={words.remove(`${label} ${text}`)}
        onClick={() => onChange({ [name]: undefined })}
      >
        <X className="i s12" aria-hidden />
      </button>
    </span>
  )
}
