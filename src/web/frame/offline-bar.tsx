/**
 * The bar above a page whose data may be old: the server cannot be reached, or failed to load the page again. It also
 * counts the edits that wait, and lists those that the server refused.
 */
import { CloudOff, TriangleAlert } from 'lucide-react'
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react'
import { onQuerySettled, pageQueries } from '../lib/page-queries.ts'
import { clockTime } from '../lib/times.ts'
import { reconnectNow, useLostAt } from '../live/state.ts'
import { sendAll } from '../waiting/queue.ts'
import { RefusedEdits } from '../waiting/refused-edits.tsx'
import { countWaiting, waitingEdits } from '../waiting/waiting-edits.tsx'
import { words } from '../waiting/words.ts'
import { words as common } from '../words.ts'
import { RetryButton } from './errors.tsx'

/** A short interruption must not move the page. */
const SHORT_MS = 3000

/** Also on phones, which have no status bar. */
export const OfflineBar = () => (
  <>
    <RefusedEdits />
    <StateBar />
  </>
)

function StateBar() {
  const since = useLostAt()
  const n = countWaiting(waitingEdits.use())
  const isInterrupted = since !== undefined || n > 0
  const [long, setLong] = useState(false)
  const loadedAt = useSyncExternalStore(onQuerySettled, latestLoad)
  const failed = useSyncExternalStore(onQuerySettled, hasFailedReload)
  useEffect(() => {
    setLong(false)
    const timer = isInterrupted ? setTimeout(() => setLong(true), SHORT_MS) : undefined
    return () => clearTimeout(timer)
  }, [isInterrupted])
  if (isInterrupted) {
    if (!long) return null
    const parts = [
      since !== undefined && words.offlineSince(clockTime(since)),
      since !== undefined && loadedAt > 0 && words.loadedAt(clockTime(loadedAt)),
      n > 0 ? words.waiting(n) : words.editsWait,
    ]
    const tryNow = () => {
      reconnectNow()
      void sendAll()
    }
    return (
      <Bar icon={<CloudOff className="i s14" aria-hidden />} text={parts.filter(Boolean).join(' · ')}>
        <button type="button" className="btn small" onClick={tryNow}>
          {common.tryNow}
        </button>
      </Bar>
    )
  }
  if (!failed) return null
  return (
    <Bar icon={<TriangleAlert className="i s14" aria-hidden />} text={words.notReloaded}>
      <RetryButton />
    </Bar>
  )
}

const Bar = ({ icon, text, children }: { icon: ReactNode; text: string; children: ReactNode }) => (
  <div className="offline" role="status">
    {icon}
    <span className="grow">{text}</span>
    {children}
  </div>
)

const latestLoad = (): number => Math.max(0, ...pageQueries().map(({ dataUpdatedAt }) => dataUpdatedAt))
const hasFailedReload = (): boolean =>
  pageQueries().some(({ data, status }) => data !== undefined && status === 'error')
