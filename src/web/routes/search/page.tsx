/** Finds records by words or by meaning; a kind narrows what is found. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import type { FoundGroups, Part } from '../../../features/search/schema.ts'
import { type SearchName, searchNames } from '../../../records/names.ts'
import { withoutFilter } from '../../../records/query-filters.ts'
import type { Status } from '../../../records/task-states.ts'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { QueryBar } from '../../components/list/query-bar.tsx'
import { EmptyState, LoadStatus } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { QueryChips } from '../../frame/palette/query-chips.tsx'
import { ago } from '../../lib/times.ts'
import { useRecordAddress } from '../../record-address.ts'
import { kindNames, kindTitle } from '../../words.ts'
import { meaningQuery, wordsQuery } from './queries.ts'
import type { SearchPageQuery } from './search.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/search')

export function SearchPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const change = (next: Partial<SearchPageQuery>) => void navigate({ search: (before) => ({ ...before, ...next }) })
  useCrumbs({ label: words.title }, ...(search.q ? [{ label: search.q }] : []))
  const kinds = searchNames.map((kind) => ({ value: kind, label: kindTitle(kind) }))
  return (
    <>
      <div className="viewbar">
        <h1 className="h2">{words.title}</h1>
        <div className="seg" role="group" aria-label={words.how}>
          {(['words', 'meaning'] as const).map((by) => (
            <button
              key={by}
              type="button"
              aria-pressed={(search.by ?? 'words') === by}
              onClick={() => change({ by: by === 'meaning' ? by : undefined })}
            >
              {words.by[by]}
            </button>
          ))}
        </div>
        <QueryBar
          filters={[{ name: 'kind', label: words.kind, values: kinds, chosen: search.kind }]}
          find={{ label: words.find, text: search.q }}
          onChange={change}
        />
      </div>
      <div className="scroll">
        <div className="page stack s4">
          {!search.q ? (
            <Start />
          ) : search.by === 'meaning' ? (
            <ByMeaning search={search} />
          ) : (
            <ByWords search={search} />
          )}
        </div>
      </div>
    </>
  )
}

const Start = () => (
  <EmptyState title={words.start}>
    <p className="soft">{words.startText}</p>
    <code className="code">{words.command}</code>
  </EmptyState>
)

function Filters({ search: { q = '' }, filters }: { search: SearchPageQuery; filters: FoundGroups['filters'] }) {
  const navigate = route.useNavigate()
  return (
    <QueryChips
      filters={filters ?? []}
      onRemove={(filter) =>
        void navigate({ search: (before) => ({ ...before, q: withoutFilter(q, filter) || undefined }) })
      }
    />
  )
}

function ByWords({ search }: { search: SearchPageQuery }) {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(wordsQuery(team.id, search))
  if (!data) return <LoadStatus of={{ data, error }} />
  const chips = <Filters search={search} filters={data.filters} />
  if (data.items.length === 0)
    return (
      <>
        {chips}
        <None search={search} />
      </>
    )
  return (
    <>
      {chips}
      {data.corrected && <p role="status">{words.corrected(data.corrected)}</p>}
      {data.indexing && <p className="soft t12">{words.behind}</p>}
      {data.items.map(({ kind, total, items }) => (
        <section key={kind} className="stack s1">
          <h2 className="h2">{words.total(kindTitle(kind), total)}</h2>
          <ul className="sheet">
            {items.map((found) => (
              <Row
                key={found.id}
                found={found}
                title={<Pieces of={found.highlight.title} />}
                text={<Pieces of={found.highlight.text} />}
                note={ago(found.updatedAt)}
              />
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}

function ByMeaning({ search }: { search: SearchPageQuery }) {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(meaningQuery(team.id, search))
  if (!data) return <LoadStatus of={{ data, error }} />
  const chips = <Filters search={search} filters={data.filters} />
  if (data.sources.length === 0)
    return (
      <>
        {chips}
        <None search={search} />
      </>
    )
  return (
    <>
      {chips}
      {data.mode === 'words' && <p className="soft">{words.onlyWords}</p>}
      {data.answer && (
        <section className="stack s1">
          <h2 className="h2">{words.answer}</h2>
          <p className="txt answer">{data.answer}</p>
        </section>
      )}
      <section className="stack s1">
        <h2 className="h2">{words.sources}</h2>
        <ul className="sheet">
          {data.sources.map((source) => (
            <Row
              key={source.number}
              found={source}
              title={source.title}
              text={plain(source.text)}
              note={words.source(kindNames[source.kind].one, source.meaning)}
            />
          ))}
        </ul>
      </section>
    </>
  )
}

function None({ search }: { search: SearchPageQuery }) {
  return (
    <div className="nomatch">
      <p>{words.none(search.q ?? '')}</p>
      {search.by !== 'meaning' && (
        <Link className="btn small" from="/search" to="/search" search={(before) => ({ ...before, by: 'meaning' })}>
          {words.byMeaning}
        </Link>
      )}
    </div>
  )
}

interface RowProps {
  found: {
    kind: SearchName
    path: string
    organizationId: string | null
    key?: string | null
    status?: string | null
  }
  title: React.ReactNode
  text: React.ReactNode
  note: string
}

function Row({ found, title, text, note }: RowProps) {
  const { to, search } = useRecordAddress()(found)
  return (
    <li className="prow">
      <Link className="row wide" to={to} search={search}>
        {found.kind === 'task' && found.status && <StatusGlyph status={found.status as Status} />}
        <span className="grow stack s1">
          <b className="b5">
            {found.kind === 'task' && found.key && <span className="soft">{found.key} </span>}
            {title}
          </b>
          <span className="soft t12 twolines">{text}</span>
        </span>
        <span className="soft t12 hp">{note}</span>
      </Link>
    </li>
  )
}

/** Headings, tables and emphasis make no sense in an excerpt, which is one line. */
const plain = (text: string): string =>
  text
    .replace(/(^|\s)#{1,6} /g, '$1')
    .replace(/\s*\|[\s|:-]*/g, ' · ')
    .replace(/^ · | · $/g, '')
    .replaceAll('**', '')

/** A text in pieces, of which some matched. */
const Pieces = ({ of }: { of: readonly Part[] }) =>
  of.map(({ text, match }, place) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no names, and their order never changes
    match ? <mark key={place}>{text}</mark> : plain(text),
  )
