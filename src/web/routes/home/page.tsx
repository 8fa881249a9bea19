/** What the reader has to do. */
import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { AfterAMoment, ProblemBox, Skeleton } from '../../components/states.tsx'
import { statusNames } from '../../words.ts'
import { myWorkQuery } from './queries.ts'
import { words } from './words.ts'

export function HomePage() {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(myWorkQuery(team.id))
  return (
    <div className="scroll">
      <div className="page stack s4">
        <h1 className="h1">{words.title}</h1>
        <h2 className="h2">{words.mine}</h2>
        {error && !data && <ProblemBox error={error} />}
        {!data && !error && (
          <AfterAMoment>
            <Skeleton />
          </AfterAMoment>
        )}
        {data?.items.length === 0 && <p className="soft">{words.nothingMine}</p>}
        {data && data.items.length > 0 && (
          <ul className="sheet">
            {data.items.map((task) => (
              <li key={task.id} className="prow">
                <Link className="row wide" to="/tasks/$key" params={{ key: task.key }}>
                  <span className="soft t12">{task.key}</span>
                  <b className="b5 grow cut">{task.title}</b>
                  <span className="soft t12">{statusNames[task.status]}</span>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  )
}
