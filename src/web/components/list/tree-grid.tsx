/**
 * A virtual tree grid. One row has the focus, and arrow keys move it: right expands or enters, left collapses or
 * leaves. The page handles all other keys.
 */
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react'

interface TreeRow {
  id: string
  level: number
  /** Undefined: nothing can be in it. */
  expanded: boolean | undefined
}

interface Props<R extends TreeRow> {
  name: string
  rows: readonly R[]
  /** The row that the address names: shown at first, and marked. */
  selected: string | undefined
  size: number
  /** Draws the cells of a row; each is a `gridcell`. */
  cells(row: R): ReactNode
  className?(row: R): string
  /** Called with the element of each row while it is in the page, for dragging. Returns what undoes it. */
  attach?(row: R, element: HTMLElement): () => void
  onToggle(row: R, open: boolean): void
  /** Returns whether the key was used. */
  onKey(row: R, event: KeyboardEvent): boolean
}

export function TreeGrid<R extends TreeRow>(props: Props<R>) {
  const { name, rows, selected, size } = props
  const scroll = useRef<HTMLDivElement>(null)
  const [current, setCurrent] = useState(selected)
  const place = Math.max(
    0,
    rows.findIndex(({ id }) => id === current),
  )
  const wanted = useRef(false)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => size,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 4,
  })
  const go = (to: number) => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, to))]
    if (!next) return
    wanted.current = true
    virtual.scrollToIndex(rows.indexOf(next))
    setCurrent(next.id)
  }
  // The address may name a row that is far down.
  const first = useRef(selected)
  useEffect(() => {
    const at = rows.findIndex(({ id }) => id === first.current)
    if (at < 0) return
    first.current = undefined
    virtual.scrollToIndex(at, { align: 'center' })
  }, [rows, virtual])
  const onKeyDown = (row: R) => (event: KeyboardEvent) => {
    if (event.target instanceof HTMLElement && event.target.closest('input, button, a')) return
    if (props.onKey(row, event) || moveFocus(row, event, { rows, place, go, onToggle: props.onToggle }))
      event.preventDefault()
  }
  return (
    <div className="scroll" ref={scroll}>
      <div className="tree" role="treegrid" aria-label={name} aria-rowcount={rows.length}>
        <div role="rowgroup" style={{ blockSize: virtual.getTotalSize(), position: 'relative' }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index]
            return (
              row && (
                <Row
                  key={row.id}
                  {...props}
                  row={row}
                  index={index}
                  start={start}
                  isCurrent={index === place}
                  wanted={wanted}
                  onFocus={() => setCurrent(row.id)}
                  onKeyDown={onKeyDown(row)}
                />
              )
            )
          })}
        </div>
      </div>
    </div>
  )
}

/** A cell of a row. The row has the focus; a cell gets it only by a click. */
export const Cell = ({ className, children }: { className?: string; children: ReactNode }) => (
  <div role="gridcell" tabIndex={-1} className={className}>
    {children}
  </div>
)

interface Steps<R> {
  rows: readonly R[]
  place: number
  go(to: number): void
  onToggle(row: R, open: boolean): void
}

/** The keys of every tree. Returns whether the key was used. */
function moveFocus<R extends TreeRow>(row: R, event: KeyboardEvent, { rows, place, go, onToggle }: Steps<R>): boolean {
  if (event.altKey || event.ctrlKey || event.metaKey) return false
  const isIn = (rows[place + 1]?.level ?? 0) > row.level
  const parent = () => rows.slice(0, place).findLastIndex(({ level }) => level < row.level)
  switch (event.key) {
    case 'ArrowDown':
      go(place + 1)
      return true
    case 'ArrowUp':
      go(place - 1)
      return true
    case 'Home':
      go(0)
      return true
    case 'End':
      go(rows.length - 1)
      return true
    case 'ArrowRight':
      if (row.expanded === false) onToggle(row, true)
      else if (isIn) go(place + 1)
      return true
    case 'ArrowLeft':
      if (row.expanded) onToggle(row, false)
      else if (parent() >= 0) go(parent())
      return true
    default:
      return false
  }
}

interface RowProps<R extends TreeRow> extends Props<R> {
  row: R
  index: number
  start: number
  isCurrent: boolean
  wanted: { current: boolean }
  onFocus(): void
  onKeyDown(event: KeyboardEvent): void
}

function Row<R extends TreeRow>({ row, index, start, isCurrent, wanted, attach, ...props }: RowProps<R>) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isCurrent || !wanted.current) return
    wanted.current = false
    element.current?.focus()
  })
  useEffect(() => (element.current && attach ? attach(row, element.current) : undefined), [row, attach])
  return (
    <div
      ref={element}
      role="row"
      className={`trow ${props.className?.(row) ?? ''}`}
      aria-level={row.level}
      aria-rowindex={index + 1}
      aria-expanded={row.expanded}
      aria-selected={row.id === props.selected}
      tabIndex={isCurrent ? 0 : -1}
      style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)`, blockSize: props.size }}
      onFocus={props.onFocus}
      onKeyDown={props.onKeyDown}
    >
      {props.cells(row)}
    </div>
  )
}
