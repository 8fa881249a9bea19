/** A virtual list: only the rows on screen are mounted, and the next page is loaded near the end. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, type RefObject, useEffect, useRef } from 'react'
import { useCommands } from '../../shortcuts.ts'
import { words } from '../../words.ts'
import { AfterAMoment, NoMatch, ProblemBox, Skeleton } from '../states.tsx'

/** What has been loaded of the list, as `useInfiniteQuery` returns it. */
export interface LoadedPages<T> {
  data: { pages: readonly { items: readonly T[] }[] } | undefined
  error: Error | null
  hasNextPage: boolean
  isFetchingNextPage: boolean
  isFetchNextPageError: boolean
  fetchNextPage(): unknown
  refetch(): unknown
}

interface Props<T> {
  found: LoadedPages<T>
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
  useRowKeys(scroll, items.length, (place) => rows.scrollToIndex(place))
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
            <li
              key={item.id}
              data-row={index}
              style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}
            >
              {row(item)}
            </li>
          )
        })}
      </ul>
      {isFetchNextPageError && error && <ProblemBox error={error}>{again(fetchNextPage)}</ProblemBox>}
    </div>
  )
}

/** `j` and `k` focus the link or button of the next or previous row. */
function useRowKeys(list: RefObject<HTMLElement | null>, count: number, reveal: (place: number) => void): void {
  const last = useRef(-1)
  /** The row may come into the page only after it was scrolled to. One with nothing to focus is passed over. */
  const focus = (place: number, by: number, tries = 20): void => {
    if (place < 0 || place >= count) return
    const row = list.current?.querySelector(`[data-row="${place}"]`)
    const target = row?.querySelector<HTMLElement>('a, button')
    if (target) {
      last.current = place
      target.focus()
    } else if (row) step(place, by)
    else if (tries > 0) requestAnimationFrame(() => focus(place, by, tries - 1))
  }
  const step = (from: number, by: number) => {
    reveal(Math.max(0, Math.min(count - 1, from + by)))
    focus(from + by, by)
  }
  const here = () => Number(document.activeElement?.closest('[data-row]')?.getAttribute('data-row') ?? last.current)
  useCommands([
    { keys: 'j', label: words.keys.next, scope: 'list', keysOnly: true, run: () => step(here(), 1) },
    { keys: 'k', label: words.keys.previous, scope: 'list', keysOnly: true, run: () => step(here(), -1) },
  ])
}
