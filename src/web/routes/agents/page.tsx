/** The agents of a team: what each is for, and whether it works now. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import type { AgentItem } from '../../../features/agents/schema.ts'
import { agents, ok } from '../../api.ts'
import { Avatar } from '../../components/avatar.tsx'
import { EmptyState, ProblemBox, Waiting } from '../../components/states.tsx'
import { pagedQuery } from '../../lib/data.ts'
import { usePresence } from '../../live/presence.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/agents')
const statuses = ['active', 'archived'] as const
type Status = (typeof statuses)[number]

const listQuery = (team: string, status: Status) =>
  pagedQuery(['agents', team, status], (page) => ok(agents.agents.get({ query: { status, limit: 30, ...page } })))

export function AgentsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const status = route.useSearch().status ?? 'active'
  const list = useInfiniteQuery(listQuery(team.id, status))
  const items = list.data?.pages.flatMap((page) => page.items)
  return (
    <div className="scroll">
      <div className="page stack s5">
        <header className="row wide phead wraps">
          <div className="grow">
            <h1 className="h1">{words.title}</h1>
            <p className="soft">{words.about}</p>
          </div>
          <div className="seg" role="group" aria-label={words.view}>
            {statuses.map((one) => (
              <Link
                key={one}
                to="/agents"
                search={{ status: one === 'active' ? undefined : one }}
                activeOptions={{ includeSearch: true, explicitUndefined: true }}
              >
                {words.status[one]}
              </Link>
            ))}
          </div>
        </header>
        {list.error && !items && <ProblemBox error={list.error} />}
        {!items && !list.error && <Waiting />}
        {items?.length === 0 && <NoAgents status={status} />}
        {items && items.length > 0 && (
          <ul className="sheet">
            {items.map((agent) => (
              <Row key={agent.id} agent={agent} />
            ))}
          </ul>
        )}
        {list.hasNextPage && (
          <p>
            <button type="button" className="btn" disabled={list.isFetching} onClick={() => void list.fetchNextPage()}>
              {words.more}
            </button>
          </p>
        )}
      </div>
    </div>
  )
}

function NoAgents({ status }: { status: Status }) {
  if (status === 'archived') return <p className="soft">{words.noneArchived}</p>
  return (
    <EmptyState title={words.none}>
      <p className="soft">{words.noneText}</p>
      <p className="voidact">
        <Link className="btn main" to="/tokens">
          {words.toTokens}
        </Link>
      </p>
      <code className="code">{words.command}</code>
    </EmptyState>
  )
}

function Row({ agent }: { agent: AgentItem }) {
  const here = usePresence().find(({ id }) => id === agent.id)
  return (
    <li className="prow">
      <Link className="row wide" to="/agents/$id" params={{ id: agent.slug }}>
        <Avatar party={{ type: 'agent', id: agent.id, name: agent.name }} size="m" />
        <span className="grow stack s1 ttlcell">
          <b className="b5 cut">{agent.name}</b>
          {agent.role && <span className="soft t12 cut">{agent.role}</span>}
        </span>
        {agent.model && <span className="soft t12 hp">{agent.model}</span>}
        {here && <span className="flag agent">{here.state?.task ? words.atWork(here.state.task) : words.here}</span>}
      </Link>
    </li>
  )
}
