/** The lines of a list of tasks. Only those on screen are in the page. */
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, type ReactNode, useCallback, useMemo, useRef } from 'react'
import type { TaskGroup } from '../../../../features/tasks/lists/list-schema.ts'
import type { TaskItem } from '../../../../features/tasks/schema.ts'
import { columnsOf, type TaskSearch, taskColumns } from '../search.ts'
import { type AllMatching, type TaskSelection, useSelection } from '../selection.ts'
import { words } from '../words.ts'
import { TaskRow } from './row.tsx'

/** The head of a group; its end if more of it can be loaded; the place to add a task. They are as high as a row. */
export interface GroupLine {
  key: string
  task?: undefined
  group: TaskGroup
  part: 'head' | 'more' | 'add'
}
export type ListLine = { key: string; task: TaskItem } | GroupLine

/** The height of a row, as the style sheet has it: on a phone it is high enough for a finger. */
const rowSize = (): number => (matchMedia('(max-width: 767px)').matches ? 44 : 34)

export function useTaskRows(lines: readonly ListLine[], matching: AllMatching | undefined, open: string | undefined) {
  const scroll = useRef<HTMLDivElement>(null)
  /** The key of a line that stays in the page wherever it is, because someone types there. */
  const kept = useRef<string>(undefined)
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroll.current,
    getItemKey: useCallback((index: number) => lines[index]?.key ?? index, [lines]),
    estimateSize: rowSize,
    overscan: 4,
    rangeExtractor: (range: Range) => {
      const shown = defaultRangeExtractor(range)
      const place = kept.current === undefined ? -1 : lines.findIndex(({ key }) => key === kept.current)
      return place < 0 || shown.includes(place) ? shown : [...shown, place].toSorted((a, b) => a - b)
    },
  })
  // A task may be in several groups: keys step over it once.
  const { items, places } = useMemo(() => {
    const placeOf = new Map<string, number>()
    const once: TaskItem[] = []
    for (const [place, { task }] of lines.entries()) {
      if (!task || placeOf.has(task.id)) continue
      placeOf.set(task.id, place)
      once.push(task)
    }
    return { items: once, places: placeOf }
  }, [lines])
  const selection = useSelection({
    items,
    reveal: (index) => rows.scrollToIndex(places.get(items[index]?.id ?? '') ?? 0),
    matching,
    open,
  })
  const shown = rows.getVirtualItems()
  return { rows, scroll, kept, selection, first: shown[0]?.index ?? 0, last: shown.at(-1)?.index ?? 0 }
}

interface Props {
  lines: readonly ListLine[]
  view: ReturnType<typeof useTaskRows>
  search: TaskSearch
  may: boolean
  onOpen(key: string): void
  /** What a row shows after the title (default: the columns). */
  row?: ((task: TaskItem) => ReactNode) | undefined
  /** How the head or the end of a group looks. */
  groupLine?: (line: GroupLine) => ReactNode
  /** What follows the rows. */
  children?: ReactNode
}

export function TaskRows({
  lines,
  view: { rows, scroll, selection },
  search,
  may,
  onOpen,
  row,
  groupLine,
  children,
}: Props) {
  const columns = useMemo(() => columnsOf({ ...(search.show && { show: search.show }) }), [search.show])
  const widths = taskColumns.filter((name) => columns.has(name)).map((name) => `var(--w-${name})`)
  return (
    <div className="scroll" ref={scroll}>
      <ul
        className={selection.ids.size > 0 ? 'list many' : 'list'}
        style={{ blockSize: rows.getTotalSize(), position: 'relative', '--columns': widths.join(' ') } as CSSProperties}
        aria-label={words.tasks}
      >
        {rows.getVirtualItems().map(({ index, start, key }) => {
          const line = lines[index] as ListLine
          return (
            <li key={key} style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}>
              {line.task ? (
                <Line line={line} {...{ search, may, selection, columns, onOpen, row }} />
              ) : (
                groupLine?.(line)
              )}
            </li>
          )
        })}
      </ul>
      {children}
    </div>
  )
}

interface LineProps extends Pick<Props, 'search' | 'may' | 'onOpen' | 'row'> {
  line: { task: TaskItem }
  selection: TaskSelection
  columns: ReturnType<typeof columnsOf>
}

const Line = ({ line: { task }, search, may, selection, columns, onOpen, row }: LineProps) => (
  <TaskRow
    task={task}
    open={task.key === search.open}
    chosen={selection.ids.has(task.id)}
    may={may}
    selection={selection}
    columns={columns}
    onOpen={onOpen}
    {...(row && { children: row(task) })}
  />
)
