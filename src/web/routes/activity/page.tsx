/** The activity of the team, newest first, by day. New entries wait until the reader shows them. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { useCallback } from 'react'
import type { ActivityItem } from '../../../features/activity/schema.ts'
import { recordNames } from '../../../records/names.ts'
import { agentsQuery, membersQuery, projectsQuery } from '../../account/session.ts'
import { FeedRow } from '../../components/feed-row.tsx'
import { LongList } from '../../components/list/long-list.tsx'
import { QueryBar } from '../../components/list/query-bar.tsx'
import { NewItemsPill } from '../../components/list/stable-order.tsx'
import { EmptyState } from '../../components/states.tsx'
import { clockTime, dayAndTime } from '../../lib/times.ts'
import { kindNames } from '../../words.ts'
import { feedQuery, newestQuery } from './queries.ts'
import { type ActivitySearch, noFilter } from './search.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/activity')

type Line = { id: string; day: string } | (ActivityItem & { day?: undefined })

/** Puts a heading before the first entry of each day. */
function groupByDay(items: readonly ActivityItem[]): Line[] {
  let last = ''
  return items.flatMap((item): Line[] => {
    const day = new Date(item.at).toDateString()
    const begins = day !== last
    last = day
    return begins ? [{ id: `day ${day}`, day: item.at }, item] : [item]
  })
}

export function ActivityPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const narrow = useCallback(
    (change: Partial<ActivitySearch>) => void navigate({ search: (before) => ({ ...before, ...change }) }),
    [navigate],
  )
  const found = useInfiniteQuery(feedQuery(team.id, search))
  const items = found.data?.pages.flatMap((page) => page.items)
  return (
    <>
      <div className="viewbar">
        <h1 className="h2">{words.title}</h1>
        <Filters search={search} onChange={narrow} />
      </div>
      {items && <NewEntriesPill search={search} shown={items} onShow={() => void found.refetch()} />}
      <LongList
        found={{ ...found, data: items && { pages: [{ items: groupByDay(items) }] } }}
        size={36}
        row={(line) => (line.day === undefined ? <Entry item={line} /> : <Day at={line.day} />)}
        empty={
          <EmptyState title={words.nothing}>
            <p className="soft">{words.nothingText}</p>
            <code className="code">{words.command}</code>
          </EmptyState>
        }
        noMatch={Object.keys(search).some((name) => name !== 'team') ? words.noMatch : undefined}
        onClear={() => narrow(noFilter)}
      />
    </>
  )
}

interface NewsProps {
  search: ActivitySearch
  shown: readonly ActivityItem[]
  onShow(): void
}

function NewEntriesPill({ search, shown, onShow }: NewsProps) {
  const { team } = useRouteContext({ from: '/inside' })
  const newest = useQuery(newestQuery(team.id, search)).data ?? []
  const known = new Set(shown.slice(0, 50).map(({ id }) => id))
  const place = newest.findIndex(({ id }) => known.has(id))
  const fresh = place < 0 ? newest.length : place
  return (
    <NewItemsPill n={fresh} onShow={onShow}>
      {words.news(fresh)}
    </NewItemsPill>
  )
}

function Entry({ item }: { item: ActivityItem }) {
  const what = (
    <>
      {item.actor.for && <span className="soft hp">{words.for(item.actor.for.name)} </span>}
      {item.description}
    </>
  )
  return (
    <FeedRow
      actor={item.actor}
      what={
        item.path ? (
          <Link className="quietlink" to={item.path}>
            {what}
          </Link>
        ) : (
          what
        )
      }
      when={
        <time className="t12 soft nowrap" dateTime={item.at} title={dayAndTime(item.at)}>
          {clockTime(item.at)}
        </time>
      }
    />
  )
}

function Day({ at }: { at: string }) {
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000)
  const name = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' })
  return (
    <h2 className="dayhead">{days === 0 ? words.today : days === 1 ? words.yesterday : name.format(new Date(at))}</h2>
  )
}

function Filters({ search, onChange }: { search: ActivitySearch; onChange(change: Partial<ActivitySearch>): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const members = useQuery(membersQuery(team.id)).data ?? []
  const agents = useQuery(agentsQuery(team.id)).data ?? []
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const filters = [
    {
      name: 'who',
      label: words.who,
      values: (['user', 'agent'] as const).map((value) => ({ value, label: words.whoNames[value] })),
      chosen: search.who,
    },
    {
      name: 'kind',
      label: words.kind,
      values: recordNames.map((kind) => ({ value: kind, label: kindNames[kind].many })),
      chosen: search.kind,
    },
    {
      name: 'actor',
      label: words.actor,
      values: [
        ...members.map(({ id, name }) => ({ value: id, label: name })),
        ...agents.map(({ id, name }) => ({ value: id, label: name })),
      ],
      chosen: search.actor,
    },
    {
      name: 'project',
      label: words.project,
      values: projects.map(({ slug, name }) => ({ value: slug, label: name })),
      chosen: search.project,
    },
  ]
  return <QueryBar filters={filters} onChange={onChange} />
}
