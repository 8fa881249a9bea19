import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { agentsQuery, projectsQuery } from '../../account/session.ts'
import { EmptyState, LoadStatus } from '../../components/states.tsx'
import { ago } from '../../lib/times.ts'
import { sessionsQuery } from './queries.ts'
import { words } from './words.ts'

export function SessionsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(sessionsQuery(team.id))
  const agents = useQuery(agentsQuery(team.id)).data ?? []
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const items = data?.pages.flatMap((page) => page.items)
  return (
    <div className="scroll">
      <div className="page stack s4">
        <h1 className="h1">{words.title}</h1>
        <LoadStatus of={{ data, error }} />
        {items?.length === 0 && (
          <EmptyState title={words.none}>
            <p className="soft">{words.noneText}</p>
            <code className="code">{words.command}</code>
          </EmptyState>
        )}
        {items && items.length > 0 && (
          <ul className="sheet">
            {items.map((session) => (
              <li key={session.id} className="prow">
                <Link className="row wide" to="/sessions/$id" params={{ id: session.id }}>
                  <span className="grow stack s1">
                    <b className="b5 cut">{session.goals[0] ?? words.noGoal}</b>
                    <span className="soft t12 cut">
                      {[
                        agents.find(({ id }) => id === session.agentId)?.name,
                        projects.find(({ id }) => id === session.projectId)?.name,
                      ]
                        .filter(Boolean)
                        .join(' · ')}
                    </span>
                  </span>
                  <span className={session.status === 'active' ? 'flag agent' : 'flag'}>
                    {words.states[session.status]}
                  </span>
                  <span className="soft t12 nowrap hp">{words.changed(ago(session.updatedAt))}</span>
                </Link>
              </li>
            ))}
          </ul>
        )}
        {hasNextPage && (
          <button type="button" className="btn" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {words.more}
          </button>
        )}
      </div>
    </div>
  )
}
