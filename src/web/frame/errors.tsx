import { useQueryClient } from '@tanstack/react-query'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { type ComponentType, useCallback } from 'react'
import { EmptyState, ProblemBox } from '../components/states.tsx'
import { isProblem, isUnreachable } from '../problem.ts'
import { words } from '../words.ts'
import { FindInOtherTeams } from './palette/find-in-other-teams.tsx'
import { NotLoaded, NotLoadedPage } from './unloaded-page.tsx'

export const NotFound = () => (
  <div className="scroll">
    <EmptyState title={words.notFound} isPage>
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
export const PageError = (props: ErrorComponentProps) => <LoadError {...props} unreachable={NotLoadedPage} />

/** The frame itself could not be loaded, so there is no page yet that has a name. */
export const FrameError = (props: ErrorComponentProps) => <LoadError {...props} unreachable={NotLoadedFrame} />
const NotLoadedFrame = ({ onTry }: { onTry(): void }) => <NotLoaded name="Tutti" onTry={onTry} />

interface LoadErrorProps extends ErrorComponentProps {
  unreachable: ComponentType<{ onTry(): void }>
}

function LoadError({ error, reset, unreachable: Unreachable }: LoadErrorProps) {
  const router = useRouter()
  const cache = useQueryClient()
  const tryAgain = useCallback(() => {
    // A query that failed would throw the same error again.
    cache.removeQueries({ predicate: ({ state }) => state.status === 'error' && state.data === undefined })
    reset?.()
    void router.invalidate()
  }, [cache, reset, router])
  if (isUnreachable(error)) return <Unreachable onTry={tryAgain} />
  if (isProblem(error) && error.status === 404) return <FindInOtherTeams otherwise={<NotFound />} />
  return (
    <div className="scroll">
      <div className="page">
        <ProblemBox error={error instanceof Error ? error : new Error(String(error))}>
          <button type="button" className="btn small" onClick={tryAgain}>
            {words.tryAgain}
          </button>
        </ProblemBox>
      </div>
    </div>
  )
}
