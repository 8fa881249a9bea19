/** Sync conflicts: the values side by side, and the choice between them. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { CopyLine } from '../../components/copy-line.tsx'
import { EmptyState, ProblemBox, Waiting } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { words as common } from '../../words.ts'
import { ConflictCard } from './card.tsx'
import { conflictsQuery } from './queries.ts'
import { words } from './words.ts'

export function ConflictsPage() {
  const found = useInfiniteQuery(conflictsQuery)
  useCrumbs({ label: common.places.settings, to: '/settings/data' }, { label: words.title })
  const items = found.data?.pages.flatMap((page) => page.items) ?? []
  const total = found.data?.pages[0]?.total
  return (
    <div className="scroll">
      <div className="page stack s5">
        <header>
          <h1 className="h1">{words.title}</h1>
          <p className="soft">
            {words.intro} <span className="nowrap">{total ? words.n(total) : ''}</span>
          </p>
        </header>
        {found.error && (
          <ProblemBox error={found.error}>
            <button type="button" className="btn small" onClick={() => void found.refetch()}>
              {common.tryAgain}
            </button>
          </ProblemBox>
        )}
        {found.isPending && <Waiting />}
        {found.data && items.length === 0 && <Nothing />}
        {items.map((conflict) => (
          <ConflictCard key={conflict.id} conflict={conflict} />
        ))}
        {found.hasNextPage && (
          <p>
            <button
              type="button"
              className="btn"
              disabled={found.isFetchingNextPage}
              onClick={() => void found.fetchNextPage()}
            >
              {words.more}
            </button>
          </p>
        )}
      </div>
    </div>
  )
}

const Nothing = () => (
  <EmptyState title={words.none}>
    <p className="soft">{words.noneText}</p>
    <div className="sheet ways">
      <CopyLine label={words.terminal} text={words.command} />
    </div>
  </EmptyState>
)
