/** The bar above a page whose data may be old: the server cannot be reached, or failed to load the page again. */
import { CloudOff, TriangleAlert } from 'lucide-react'
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react'
import { onQuerySettled, pageQueries } from '../lib/page-queries.ts'
import { clockTime } from '../lib/times.ts'
import { reconnectNow, useLostAt } from '../live/state.ts'
import { words } from '../words.ts'
import { RetryButton } from './errors.tsx'

/** A short interruption must not move the page. */
const SHORT_MS = 3000

/** Also on phones, which have no status bar. */
export function OfflineBar() {
  const since = useLostAt()
  const [long, setLong] = useState(false)
  const loadedAt = useSyncExternalStore(onQuerySettled, latestLoad)
  const failed = useSyncExternalStore(onQuerySettled, hasFailedReload)
  useEffect(() => {
    setLong(false)
    const timer = since === undefined ? undefined : setTimeout(() => setLong(true), SHORT_MS)
    return () => clearTimeout(timer)
  }, [since])
  if (since !== undefined) {
    if (!long) return null
    const parts = [
      words.offlineSince(clockTime(since)),
      loadedAt > 0 && words.loadedAt(clockTime(loadedAt)),
      words.offlineEdits,
    ]
    return (
      <Bar icon={<CloudOff className="i s14" aria-hidden />} text={parts.filter(Boolean).join(' · ')}>
        <button type="button" className="btn small" onClick={reconnectNow}>
          {words.tryNow}
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
