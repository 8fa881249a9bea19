import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { Avatar } from '../../components/party.tsx'
import { AfterAMoment, Empty, ProblemBox, Skeleton } from '../../components/states.tsx'
import { agentsQuery } from '../../session.ts'
import { ago } from '../../times.ts'
import { words } from './words.ts'

export function AgentsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(agentsQuery(team.id))
  return (
    <div className="scroll">
      <div className="page stack s5">
        <header className="row wide phead">
          <div className="grow">
            <h1 className="h1">{words.title}</h1>
            <p className="soft">{words.about}</p>
          </div>
        </header>
        {error && !data && <ProblemBox error={error} />}
        {!data && !error && (
          <AfterAMoment>
            <Skeleton />
          </AfterAMoment>
        )}
        {data?.length === 0 && (
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
            <code className="code">{words.command}</code>
          </Empty>
        )}
        {data && data.length > 0 && (
          <ul className="sheet">
            {data.map((agent) => (
              <li key={agent.id} className="prow">
                <Link className="row wide" to="/agents/$id" params={{ id: agent.slug }}>
                  <Avatar party={{ type: 'agent', id: agent.id, name: agent.name }} size="m" />
                  <span className="grow stack s1">
                    <b className="b5">{agent.name}</b>
                    {agent.role && <span className="soft t12 cut">{agent.role}</span>}
                  </span>
                  <span className="soft t12">{words.changed(ago(agent.updatedAt))}</span>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  )
}
