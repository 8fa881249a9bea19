/** A page that is not here yet: its skeleton while it loads, and what it says while the server cannot be reached. */
import { useEffect } from 'react'
import { AfterAMoment, EmptyState } from '../components/states.tsx'
import { retryScripts } from '../lib/lazy.ts'
import { onLiveAgain, reconnectNow, useIsAway } from '../live/state.ts'
import { words } from '../words.ts'
import { useBreadcrumbs, usePagePath } from './current-page.ts'

const usePageName = (): string => useBreadcrumbs().at(-1)?.label ?? words.loading

/** What is shown while the script or the data of a page loads. */
export function PendingPage() {
  const isAway = useIsAway()
  useEffect(() => onLiveAgain(retryScripts), [])
  if (isAway) return <NotLoadedPage onTry={retryScripts} />
  return (
    <AfterAMoment>
      <PageSkeleton />
    </AfterAMoment>
  )
}

export const NotLoadedPage = ({ onTry }: { onTry(): void }) => <NotLoaded name={usePageName()} onTry={onTry} />

/** Says that the page needs the server. It loads by itself when the connection is back. */
export function NotLoaded({ name, onTry }: { name: string; onTry(): void }) {
  useEffect(() => onLiveAgain(onTry), [onTry])
  const tryNow = () => {
    reconnectNow()
    onTry()
  }
  return (
    <div className="scroll">
      <h1 className="hide">{name}</h1>
      <EmptyState title={words.notLoaded}>
        <p className="soft">{words.notLoadedText}</p>
        <p className="voidact">
          <button type="button" className="btn" onClick={tryNow}>
            {words.tryNow}
          </button>
        </p>
      </EmptyState>
    </div>
  )
}

const BOARD = /^\/projects\/[^/]+\/tasks$/
const ROWS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

function PageSkeleton() {
  const name = usePageName()
  const isBoard = BOARD.test(usePagePath()) && !location.search.includes('view=')
  return (
    <div className="scroll" aria-busy="true">
      <div className="page wide stack s4">
        <h1 className="h2">{name}</h1>
        <div className={isBoard ? 'skboard' : 'stack s4'} aria-hidden>
          {ROWS.map((row) => (isBoard ? <SkeletonCards key={row} /> : <SkeletonRow key={row} />))}
        </div>
      </div>
    </div>
  )
}

const SkeletonRow = () => (
  <div className="skrow">
    <span />
    <span />
    <span />
  </div>
)

const SkeletonCards = () => (
  <div className="skel">
    <span />
    <span />
    <span />
  </div>
)
