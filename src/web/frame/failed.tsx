import { useQueryClient } from '@tanstack/react-query'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { Empty, ProblemBox } from '../components/states.tsx'
import { isProblem } from '../problem.ts'
import { words } from '../words.ts'
import { Elsewhere } from './elsewhere.tsx'

export const Missing = () => (
  <div className="scroll">
    <Empty title={words.notFound}>
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
    </Empty>
  </div>
)

/** Loads all failed queries of the page again. */
export function Retry() {
  const cache = useQueryClient()
  const again = () => cache.refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' })
  return (
    <button type="button" className="btn small" onClick={() => void again()}>
      {words.tryAgain}
    </button>
  )
}

/** A page that could not be loaded. A record that the reader cannot see looks like a wrong address. */
export function Failed({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  if (isProblem(error) && error.status === 404) return <Elsewhere otherwise={<Missing />} />
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
