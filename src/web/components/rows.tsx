/** A long list of rows of one height. Only the rows on screen are in the page. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'

interface Props<T extends { id: string }> {
  items: readonly T[]
  /** The height of each row in pixels. */
  height: number
  row(item: T): ReactNode
  /** Loads the next page. Left out if there is none, or while it is being loaded. */
  onMore: (() => void) | undefined
  label: string
  /** What stands below the last row. */
  children?: ReactNode
}

/** How many rows before the end the next page is asked for. */
const NEAR = 20

export function Rows<T extends { id: string }>({ items, height, row, onMore, label, children }: Props<T>) {
  const scroll = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => height,
    overscan: 6,
  })
  const shown = rows.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    if (last > items.length - NEAR) onMore?.()
  }, [last, items.length, onMore])
  return (
    <div className="scroll" ref={scroll}>
      <ul className="list" aria-label={label} style={{ blockSize: rows.getTotalSize(), position: 'relative' }}>
        {shown.map(({ index, start }) => {
          const item = items[index] as T
          return (
            <li key={item.id} style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}>
              {row(item)}
            </li>
          )
        })}
      </ul>
      {children}
    </div>
  )
}
