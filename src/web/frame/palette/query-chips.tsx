/** The filters that a search query contains, each with a button that removes it from the query. */
import { X } from 'lucide-react'
import type { UnderstoodFilter } from '../../../features/search/schema.ts'
import { words } from '../../words.ts'

interface Props {
  filters: readonly UnderstoodFilter[]
  onRemove(filter: UnderstoodFilter): void
}

export const QueryChips = ({ filters, onRemove }: Props) =>
  filters.length > 0 && (
    <div className="query askfilters" role="group" aria-label={words.palette.filters}>
      {filters.map((filter) => (
        <span key={filter.text} className="chip">
          <i>{words.palette.filterKeys[filter.key]}</i>
          <i>{filter.not ? words.palette.isNot : words.palette.is}</i>
          <b>{filter.values.map((value) => value.replaceAll('_', ' ')).join(', ')}</b>
          <button
            type="button"
            className="ib"
            aria-label={words.palette.removeFilter(filter.text)}
            onClick={() => onRemove(filter)}
          >
            <X className="i s12" aria-hidden />
          </button>
        </span>
      ))}
    </div>
  )
