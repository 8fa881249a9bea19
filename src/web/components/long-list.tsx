/** A long list: only the rows on screen are in the page, and the next ones are loaded when the end comes near. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { words } from '../words.ts'
import { AfterAMoment, NoMatch, ProblemBox, Skeleton } from './states.tsx'

/** What has been loaded of the list, as `useInfiniteQuery` returns it. */
interface Found<T> {
  data: { pages: readonly { items: readonly T[] }[] } | undefined
  error: Error | null
  hasNextPage: boolean
  isFetchingNextPage: boolean
  isFetchNextPageError: boolean
  fetchNextPage(): unknown
  refetch(): unknown
}

interface Props<T> {
  found: Found<T>
  /** The height of a row, in pixels. */
  size: number
  row(item: T): ReactNode
  /** Shown if there is nothing at all. */
  empty: ReactNode
  /** Says that nothing matches, where filters are in force. */
  noMatch?: string | undefined
  onClear?(): void
}

export function LongList<T extends { id: string }>({ found, size, row, empty, noMatch, onClear }: Props<T>) {
  const { data, error, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = found
  const items = data?.pages.flatMap((page) => page.items) ?? []
  const scroll = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => size,
    overscan: 6,
  })
  const shown = rows.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    const isNear = hasNextPage && last > items.length - 20
    if (isNear && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage()
  }, [last, items.length, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage])
  const again = (run: () => unknown) => (
    <button type="button" className="btn small" onClick={() => void run()}>
      {words.tryAgain}
    </button>
  )
  if (error && !data)
    return (
      <div className="querywrap">
        <ProblemBox error={error}>{again(found.refetch)}</ProblemBox>
      </div>
    )
  if (!data)
    return (
      <AfterAMoment>
        <div className="querywrap stack">
          <Skeleton />
          <Skeleton />
        </div>
      </AfterAMoment>
    )
  if (items.length === 0 && noMatch !== undefined && onClear)
    return (
      <div className="querywrap">
        <NoMatch clear={words.clearFilters} onClear={onClear}>
          {noMatch}
        </NoMatch>
      </div>
    )
  if (items.length === 0) return <div className="scroll">{empty}</div>
  return (
    <div className="scroll" ref={scroll}>
      <ul className="list" style={{ blockSize: rows.getTotalSize(), position: 'relative' }}>
        {shown.map(({ index, start }) => {
          const item = items[index] as T
          return (
            <li key={item.id} style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}>
              {row(item)}
            </li>
          )
        })}
      </ul>
      {isFetchNextPageError && error && <ProblemBox error={error}>{again(fetchNextPage)}</ProblemBox>}
    </div>
  )
}
