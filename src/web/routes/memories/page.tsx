/** The memories of agents and people, filtered by scope, tag, age and importance, or searched by meaning. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, useRouteContext } from '@tanstack/react-router'
import { Suspense, useCallback, useState } from 'react'
import { memoryScopes } from '../../../records/names.ts'
import { LongList } from '../../components/list/long-list.tsx'
import { type FilterChoice, QueryBar } from '../../components/list/query-bar.tsx'
import { AfterAMoment, EmptyState, NoMatch, ProblemBox, Skeleton } from '../../components/states.tsx'
import { lazy } from '../../lib/lazy.ts'
import { words as common } from '../../words.ts'
import { hitsQuery, memoriesQuery } from './queries.ts'
import { MemoryHitRow, MemoryRow } from './rows.tsx'
import { ages, hasNoFilter, type MemorySearch, memorySearch, noFilter, sorts } from './search.ts'
import { type MemorySubject, useMemorySubjects } from './subjects.ts'
import { words } from './words.ts'

const ClearDialog = lazy(async () => ({ default: (await import('./clear.tsx')).ClearDialog }))

const route = getRouteApi('/inside/memories')

export function MemoriesPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const abouts = useMemorySubjects(team.id)
  const found = useInfiniteQuery(memoriesQuery(team.id, search))
  const about = abouts.find(({ id }) => id === search.scopeId)
  const mayClear = about && found.data?.pages[0]?.can?.clear === true
  const [clearing, setClearing] = useState(false)
  const narrow = useCallback(
    (change: Partial<MemorySearch>) => void navigate({ search: (before) => ({ ...before, ...change }) }),
    [navigate],
  )
  const clearFilters = () => narrow(noFilter)
  return (
    <>
      <div className="viewbar">
        <h1 className="h2">{words.title}</h1>
        <Filters search={search} abouts={abouts} onChange={narrow} />
        <span className="grow" />
        {mayClear && (
          <button type="button" className="btn small danger" onClick={() => setClearing(true)}>
            {words.clear}
          </button>
        )}
      </div>
      {search.q ? (
        <Hits search={search} onClear={clearFilters} />
      ) : (
        <LongList
          found={found}
          size={56}
          row={(memory) => <MemoryRow memory={memory} abouts={abouts} onTag={(tag) => narrow({ tag })} />}
          empty={<Nothing />}
          noMatch={hasNoFilter(search) ? undefined : words.noMatch}
          onClear={clearFilters}
        />
      )}
      {clearing && about && (
        <Suspense>
          <ClearDialog about={about} onClose={() => setClearing(false)} />
        </Suspense>
      )}
    </>
  )
}

const Nothing = () => (
  <EmptyState title={words.none}>
    <p className="soft">{words.noneText}</p>
    <code className="code">{words.command}</code>
  </EmptyState>
)

interface FiltersProps {
  search: MemorySearch
  abouts: readonly MemorySubject[]
  onChange(change: Partial<MemorySearch>): void
}

function Filters({ search, abouts, onChange }: FiltersProps) {
  const filters: FilterChoice[] = [
    {
      name: 'scope',
      label: words.scope,
      values: memoryScopes.map((scope) => ({ value: scope, label: words.scopes[scope] })),
      chosen: search.scopeId ? undefined : search.scope,
    },
    {
      name: 'scopeId',
      label: words.about,
      values: abouts.map(({ id, name }) => ({ value: id, label: name })),
      chosen: search.scopeId,
    },
    {
      name: 'age',
      label: words.age,
      values: ages.map((age) => ({ value: String(age), label: words.ages[age] })),
      chosen: search.age && String(search.age),
    },
    {
      name: 'sort',
      label: words.sort,
      values: sorts.map((sort) => ({ value: sort, label: words.sorts[sort] })),
      chosen: search.sort,
    },
    {
      name: 'old',
      label: words.old,
      values: [{ value: 'true', label: words.oldOnes }],
      chosen: search.old && 'true',
    },
    { name: 'tag', label: words.tag, values: [], chosen: search.tag },
  ]
  const choose = (change: Record<string, string | undefined>) => {
    const { age, old, scopeId, ...rest } = { ...search, ...change } as Record<string, string | undefined>
    const about = abouts.find(({ id }) => id === scopeId)
    // Numbers and yes-or-no are texts in the menu, and another scope is about something else.
    const place = 'scope' in change ? {} : { scopeId, ...(about && { scope: about.scope }) }
    const next = { ...rest, ...place, age: age && Number(age), old: String(old) === 'true' || undefined }
    onChange({ ...noFilter, sort: undefined, ...memorySearch(next) })
  }
  return <QueryBar filters={filters} find={{ label: words.find, text: search.q }} onChange={choose} />
}

/** What was found by meaning and words, best first. */
function Hits({ search, onClear }: { search: MemorySearch; onClear(): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(hitsQuery(team.id, search))
  if (error && !data)
    return (
      <div className="querywrap">
        <ProblemBox error={error} />
      </div>
    )
  if (!data)
    return (
      <AfterAMoment>
        <div className="querywrap">
          <Skeleton />
        </div>
      </AfterAMoment>
    )
  if (data.items.length === 0)
    return (
      <div className="querywrap">
        <NoMatch clear={common.clearFilters} onClear={onClear}>
          {words.noHit}
        </NoMatch>
      </div>
    )
  return (
    <div className="scroll">
      {data.mode === 'words' && <p className="querywrap soft t12">{words.wordsOnly}</p>}
      <ol className="hits" aria-label={words.title}>
        {data.items.map((hit) => (
          <MemoryHitRow key={hit.id} hit={hit} />
        ))}
      </ol>
    </div>
  )
}
