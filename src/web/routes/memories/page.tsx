/** What agents and people remember, by scope, tag, age and importance, or by meaning. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { useCallback } from 'react'
import { Avatar } from '../../components/party.tsx'
import { Rows } from '../../components/rows.tsx'
import { AfterAMoment, Empty, NoMatch, ProblemBox, Skeleton } from '../../components/states.tsx'
import { ago } from '../../times.ts'
import { words as common } from '../../words.ts'
import { memoriesQuery } from './queries.ts'
import { isWhole, noFilter } from './search.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/memories')

export function MemoriesPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { data, error, isFetchingNextPage, hasNextPage, fetchNextPage, isFetchNextPageError } = useInfiniteQuery(
    memoriesQuery(team.id, search),
  )
  const found = data?.pages.flatMap(({ items }) => items) ?? []
  const isMore = hasNextPage && !isFetchingNextPage && !isFetchNextPageError
  const onMore = useCallback(() => void fetchNextPage(), [fetchNextPage])
  return (
    <>
      <div className="viewbar">
        <h1 className="h2">{words.title}</h1>
      </div>
      {error && <ProblemBox error={error} />}
      {!data && !error && (
        <AfterAMoment>
          <Skeleton />
        </AfterAMoment>
      )}
      {data && found.length === 0 && isWhole(search) && (
        <div className="scroll">
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
            <code className="code">{words.command}</code>
          </Empty>
        </div>
      )}
      {data && found.length === 0 && !isWhole(search) && (
        <div className="querywrap">
          <NoMatch clear={common.clearFilters} onClear={() => void navigate({ search: noFilter })}>
            {words.noMatch}
          </NoMatch>
        </div>
      )}
      {found.length > 0 && (
        <Rows
          items={found}
          height={52}
          label={words.title}
          onMore={isMore ? onMore : undefined}
          row={(memory) => (
            <div className="li note">
              <Avatar party={memory.author} />
              <span className="stack s0 cut">
                <Link className="ttl cut" to="/memories/$id" params={{ id: memory.id }}>
                  {memory.title ?? memory.excerpt}
                </Link>
                <span className="cut soft t12">{memory.excerpt}</span>
              </span>
              <span className="hp" />
              <span className="soft t12 num">{ago(memory.updatedAt)}</span>
            </div>
          )}
        />
      )}
    </>
  )
}
