/** What people and agents did in the team, newest first. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { Avatar } from '../../components/party.tsx'
import { AfterAMoment, Empty, ProblemBox, Skeleton } from '../../components/states.tsx'
import { ago } from '../../times.ts'
import { feedQuery } from './queries.ts'
import { words } from './words.ts'

export function ActivityPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error, hasNextPage, fetchNextPage } = useInfiniteQuery(feedQuery(team.id))
  const items = data?.pages.flatMap((page) => page.items)
  return (
    <div className="scroll">
      <div className="page stack s4">
        <h1 className="h1">{words.title}</h1>
        {error && !items && <ProblemBox error={error} />}
        {!items && !error && (
          <AfterAMoment>
            <Skeleton />
          </AfterAMoment>
        )}
        {items?.length === 0 && (
          <Empty title={words.nothing}>
            <p className="soft">{words.nothingText}</p>
            <code className="code">{words.command}</code>
          </Empty>
        )}
        {items && items.length > 0 && (
          <ul className="sheet pad feed">
            {items.map(({ id, at, actor, description }) => (
              <li key={id}>
                <Avatar party={{ ...actor, type: actor.type === 'agent' ? 'agent' : 'user' }} />
                <span className="grow">
                  <b>{actor.name}</b> {description}
                </span>
                <time className="t12 soft nowrap" dateTime={at}>
                  {ago(at)}
                </time>
              </li>
            ))}
          </ul>
        )}
        {hasNextPage && (
          <button type="button" className="btn" onClick={() => void fetchNextPage()}>
            {words.more}
          </button>
        )}
      </div>
    </div>
  )
}
