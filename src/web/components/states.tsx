/** What a page shows instead of its content: loading, empty, no match, or an error. */
import { TriangleAlert } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { isProblem } from '../problem.ts'

/** Shows its children only after 200 ms, so that nothing flickers when the response is fast. */
export function AfterAMoment({ children }: { children: ReactNode }) {
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200)
    return () => clearTimeout(timer)
  }, [])
  return late ? <div aria-busy="true">{children}</div> : null
}

export const Skeleton = () => (
  <div className="skel" aria-hidden>
    <span />
    <span />
    <span />
  </div>
)

export const Waiting = () => (
  <AfterAMoment>
    <Skeleton />
  </AfterAMoment>
)

/** Shown until a query has data: why it failed, or that it is loading. */
export function LoadStatus({ of: { data, error } }: { of: { data: unknown; error: Error | null } }) {
  if (data !== undefined) return null
  return error ? <ProblemBox error={error} /> : <Waiting />
}

/** An empty page: an empty timeline, a title, and what to do next. */
export function EmptyState({ title, isPage, children }: { title: string; isPage?: true; children: ReactNode }) {
  const Heading = isPage ? 'h1' : 'h2'
  return (
    <div className="void">
      <svg className="staff voidstaff" height="44" viewBox="0 0 300 44" aria-hidden>
        {[6, 14, 22, 30].map((y) => (
          <line key={y} className="ln" x1="0" x2="300" y1={y} y2={y} />
        ))}
        <rect className="restmark" x="146" y="14" width="9" height="5" rx="1" />
      </svg>
      <Heading className="h1">{title}</Heading>
      {children}
    </div>
  )
}

export function NoMatch({ children, onClear, clear }: { children: ReactNode; onClear(): void; clear: string }) {
  return (
    <div className="nomatch">
      <p>{children}</p>
      <button type="button" className="btn small" onClick={onClear}>
        {clear}
      </button>
    </div>
  )
}

/** Why a change was not saved. An edit conflict (412) is said in the words of the page. */
export const SaveError = ({ error, conflict }: { error: Error; conflict: string }) => (
  <ProblemBox error={isProblem(error) && error.status === 412 ? new Error(conflict) : error} />
)

/** An error: its message, its code, the request id for the log, and a way out (`children`). */
export function ProblemBox({ error, children }: { error: Error; children?: ReactNode }) {
  return (
    <div className="problem" role="alert">
      <TriangleAlert className="i" aria-hidden />
      <div className="grow stack s1">
        <b className="b6">{error.message}</b>
        {isProblem(error) && (
          <p className="t12 soft mono">
            {error.code}
            {error.requestId && ` · request ${error.requestId}`}
          </p>
        )}
      </div>
      {children}
    </div>
  )
}
