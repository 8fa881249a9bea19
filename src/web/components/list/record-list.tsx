/** A page that lists records of one kind: filters above, a row for each, and a dialog that adds one. */
import { Plus } from 'lucide-react'
import { type ReactNode, Suspense, useState } from 'react'
import { ago } from '../../lib/times.ts'
import { useKey } from '../../shortcuts.ts'
import { EmptyState } from '../states.tsx'
import { Kbd } from '../status-bar.tsx'
import { type LoadedPages, LongList } from './long-list.tsx'
import { type FilterChoice, QueryBar } from './query-bar.tsx'

interface Words {
  /** Also the heading. */
  title: string
  create: string
  find: string
  none: string
  noneText: string
  /** What does it in a terminal. */
  command: string
  noMatch: string
}

interface Props<T> {
  words: Words
  found: LoadedPages<T>
  filters: readonly FilterChoice[]
  /** The words that are searched for. */
  q: string | undefined
  onNarrow(change: Record<string, string | undefined>): void
  /** Whether the reader may add one. */
  may: boolean
  create(close: () => void): ReactNode
  row(item: T): ReactNode
  /** The height of a row, in pixels. Default: 56. */
  size?: number
  /** The top bar already names the list, so the heading is for screen readers only. */
  quiet?: boolean
  /** Shown instead of the list, such as a board. */
  instead?: ReactNode
}

export function RecordList<T extends { id: string }>(props: Props<T>) {
  const { words, filters, q, onNarrow, may, create, quiet = false } = props
  const [adding, setAdding] = useState(false)
  useKey('c', () => may && setAdding(true), may ? { label: words.create } : {})
  const isNarrowed = Boolean(q) || filters.some(({ chosen }) => chosen)
  const clear = Object.fromEntries(['q', ...filters.map(({ name }) => name)].map((name) => [name, undefined]))
  return (
    <>
      {quiet && <h1 className="hide">{words.title}</h1>}
      <div className="viewbar">
        {!quiet && <h1 className="h2">{words.title}</h1>}
        <QueryBar filters={filters} find={{ label: words.find, text: q }} onChange={onNarrow} />
        <span className="grow" />
        {may && (
          <button type="button" className="btn main small newtask" onClick={() => setAdding(true)}>
            <Plus className="i s14" aria-hidden />
            {words.create} <Kbd>c</Kbd>
          </button>
        )}
      </div>
      {props.instead ?? (
        <LongList
          found={props.found}
          size={props.size ?? 56}
          row={props.row}
          empty={<Nothing words={words} onAdd={may ? () => setAdding(true) : undefined} />}
          noMatch={isNarrowed ? words.noMatch : undefined}
          onClear={() => onNarrow(clear)}
        />
      )}
      {adding && <Suspense>{create(() => setAdding(false))}</Suspense>}
    </>
  )
}

const Nothing = ({ words, onAdd }: { words: Words; onAdd: (() => void) | undefined }) => (
  <EmptyState title={words.none}>
    <p className="soft">{words.noneText}</p>
    {onAdd && (
      <p className="voidact">
        <button type="button" className="btn main" onClick={onAdd}>
          {words.create}
        </button>
      </p>
    )}
    <code className="code">{words.command}</code>
  </EmptyState>
)

/** The choices of a filter: keys are values in the address, values are labels. */
export const filterChoices = (names: Readonly<Record<string, string>>) =>
  Object.entries(names).map(([value, label]) => ({ value, label }))

/** A filter by one of these projects. */
export const projectFilter = (
  label: string,
  projects: readonly { slug: string; name: string }[],
  chosen: string | undefined,
): FilterChoice => ({
  name: 'project',
  label,
  values: projects.map(({ slug, name }) => ({ value: slug, label: name })),
  chosen,
})

interface CellProps {
  glyph: ReactNode
  title: string
  text: ReactNode
  flag: ReactNode
  updatedAt: string
}

/** The content of a row; the page puts it into a link `recrow` to the record. */
export const RecordCells = ({ glyph, title, text, flag, updatedAt }: CellProps) => (
  <>
    {glyph}
    <span className="grow stack s1">
      <b className="b5 cut">{title}</b>
      {text}
    </span>
    {flag}
    <span className="soft t12 num hp">{ago(updatedAt)}</span>
  </>
)
