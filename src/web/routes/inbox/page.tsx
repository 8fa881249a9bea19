/** What was sent to the reader, newest first. */
import { useQuery } from '@tanstack/react-query'
import { AfterAMoment, Empty, ProblemBox, Skeleton } from '../../components/states.tsx'
import { ago } from '../../times.ts'
import { inboxQuery } from './queries.ts'
import { words } from './words.ts'

export function InboxPage() {
  const { data, error } = useQuery(inboxQuery)
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
            <code className="code">{words.command}</code>
          </Empty>
        )}
        {data && data.items.length > 0 && (
          <ul className="sheet">
            {data.items.map(({ id, title, message, link, readAt, createdAt }) => (
              <li key={id} className={readAt ? 'nt' : 'nt new'}>
                <div className="grow">
                  <div className="row">
                    {link ? (
                      <a className="cut" href={link}>
                        <b>{title}</b>
                      </a>
                    ) : (
                      <b className="cut">{title}</b>
                    )}
                    <time className="end t12 soft nowrap" dateTime={createdAt}>
                      {ago(createdAt)}
                    </time>
                  </div>
                  {message && <p className="cut soft t13">{message}</p>}
                </div>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  )
}
