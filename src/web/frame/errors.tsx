import { useQueryClient } from '@tanstack/react-query'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { EmptyState, ProblemBox } from '../components/states.tsx'
import { isProblem } from '../problem.ts'
import { words } from '../words.ts'
import { FindInOtherTeams } from './find-in-other-teams.tsx'

export const NotFound = () => (
  <div className="scroll">
    <EmptyState title={words.notFound}>
      <p className="soft">{words.notFoundText}</p>
      <p className="voidact">
        <span className="row">
          <Link className="btn" to="/projects">
            {words.toProjects}
          </Link>
          <Link className="btn" to="/search">
            {words.toSearch}
          </Link>
        </span>
      </p>
    </EmptyState>
  </div>
)

/** Loads all failed queries of the page again. */
export function RetryButton() {
  const cache = useQueryClient()
  const again = () => cache.refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' })
  return (
    <button type="button" className="btn small" onClick={() => void again()}>
      {words.tryAgain}
    </button>
  )
}

/** A page that could not be loaded. A record that the reader cannot see looks like a wrong address. */
export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  if (isProblem(error) && error.status === 404) return <FindInOtherTeams otherwise={<NotFound />} />
  return (
    <div className="scroll">
      <div className="page">
        <ProblemBox error={error instanceof Error ? error : new Error(String(error))}>
          <button
            type="button"
            className="btn small"
            onClick={() => {
              reset?.()
              void router.invalidate()
            }}
          >
            {words.tryAgain}
          </button>
        </ProblemBox>
      </div>
    </div>
  )
}
