/** What the reader has reported to those who run the server, and their answers. */
import { useQuery } from '@tanstack/react-query'
import { AfterAMoment, Empty, ProblemBox, Skeleton } from '../../components/states.tsx'
import { ago } from '../../times.ts'
import { issuesQuery } from './queries.ts'
import { words } from './words.ts'

export function IssuesPage() {
  const { data, error } = useQuery(issuesQuery)
  return (
    <div className="scroll">
      <div className="page stack s4">
        <h1 className="h1">{words.title}</h1>
        {error && !data && <ProblemBox error={error} />}
        {!data && !error && (
          <AfterAMoment>
            <Skeleton />
          </AfterAMoment>
        )}
        {data?.items.length === 0 && (
          <Empty title={words.nothing}>
            <p className="soft">{words.nothingText}</p>
          </Empty>
        )}
        {data && data.items.length > 0 && (
          <ul className="sheet">
            {data.items.map((issue) => (
              <li key={issue.id} className="prow">
                <span className="grow stack s1">
                  <b className="b5">{issue.title}</b>
                  {issue.answer && <span className="soft t13">{issue.answer}</span>}
                </span>
                <span className="flag">{words.status[issue.status]}</span>
                <time className="t12 soft nowrap" dateTime={issue.createdAt}>
                  {ago(issue.createdAt)}
                </time>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  )
}
