/** Which tasks are selected, and on which one the keys act. */
import { useCallback, useMemo, useRef, useState } from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { useCommands } from '../../shortcuts.ts'
import { words } from './words.ts'

/** All tasks that match the filters of the page, loaded or not: a selection that is a query. */
export interface AllMatching {
  where: Record<string, unknown>
  count: number
}

export interface TaskSelection {
  ids: ReadonlySet<string>
  /** Set if all tasks that match are selected; `ids` are those of them that are loaded. */
  all?: AllMatching
  /** What would be selected by all that match; undefined if the page cannot say. */
  selectAll?: AllMatching & { run(): void }
  /** Adds or removes one; with `range`, everything between it and the last one. */
  toggle(id: string, range?: boolean): void
  /** The task that has the focus. */
  point(id: string): void
  clear(): void
  /** What an action is for: the selected tasks, else the one with the focus. */
  targets(): TaskItem[]
}

/** Focuses a task in the page. A long list mounts it first, so it may take some frames. */
export function focusTask(id: string, tries = 20): void {
  const element = document.querySelector<HTMLElement>(`[data-task="${id}"]`)
  if (element) element.focus()
  else if (tries > 0) requestAnimationFrame(() => focusTask(id, tries - 1))
}

interface Options {
  items: readonly TaskItem[]
  /** Brings a task into view before it gets the focus. */
  reveal?(index: number): void
  matching?: AllMatching | undefined
}

export function useSelection({ items, reveal, matching }: Options): TaskSelection {
  const { ids, all, setIds, selectLoaded, selectAll } = useSelectedIds(items, matching)
  const cursor = useRef<string>(undefined)
  const anchor = useRef<string>(undefined)
  const latest = useRef(items)
  latest.current = items
  const placeOf = useCallback((id: string | undefined) => latest.current.findIndex((task) => task.id === id), [])
  const step = (by: number, extend = false) => {
    const from = placeOf(cursor.current)
    const place = Math.max(0, Math.min(latest.current.length - 1, from < 0 ? 0 : from + by))
    const task = latest.current[place]
    if (!task) return
    if (extend) setIds((before) => new Set([...before, ...(cursor.current ? [cursor.current] : []), task.id]))
    cursor.current = task.id
    anchor.current = task.id
    reveal?.(place)
    focusTask(task.id)
  }
  const selection = useMemo<TaskSelection>(
    () => ({
      ids,
      ...(all && { all }),
      ...(matching && { selectAll: { ...matching, run: selectAll } }),
      toggle: (id, range) => {
        const [from, to] = [placeOf(anchor.current), placeOf(id)]
        setIds((before) => {
          const next = new Set(before)
          if (range && from >= 0)
            for (const task of latest.current.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(task.id)
          else if (!next.delete(id)) next.add(id)
          return next
        })
        anchor.current = id
        cursor.current = id
      },
      point: (id) => {
        cursor.current = id
      },
      clear: () => setIds(new Set()),
      targets: () =>
        latest.current.filter(({ id }) => (ids.size > 0 ? ids.has(id) : id === cursor.current && isFocused(id))),
    }),
    [ids, all, matching, placeOf, setIds, selectAll],
  )
  const list = { scope: 'list', keysOnly: true } as const
  useCommands([
    { ...list, keys: 'j', label: words.keys.next, run: () => step(1) },
    { ...list, keys: 'k', label: words.keys.last, run: () => step(-1) },
    { ...list, keys: 'x', label: words.keys.select, run: () => cursor.current && selection.toggle(cursor.current) },
    { ...list, keys: 'Shift+ArrowDown', label: words.keys.extend, run: () => step(1, true) },
    { ...list, keys: 'Shift+ArrowUp', run: () => step(-1, true) },
    {
      ...list,
      keys: '$mod+a',
      label: words.keys.all,
      run: selectLoaded,
    },
  ])
  return selection
}

type Ids = ReadonlySet<string>

/** The selected tasks: by their ids, or all that match. Any change by id ends a selection of all. */
function useSelectedIds(items: readonly TaskItem[], matching: AllMatching | undefined) {
  const [{ ids, all }, setSelected] = useState<{ ids: Ids; all?: AllMatching }>({ ids: new Set() })
  const setIds = useCallback(
    (next: Ids | ((before: Ids) => Ids)) =>
      setSelected((before) => ({ ids: typeof next === 'function' ? next(before.ids) : next })),
    [],
  )
  const loaded = useMemo(() => new Set(items.map(({ id }) => id)), [items])
  const selectAll = useCallback(
    () => setSelected({ ids: loaded, ...(matching && { all: matching }) }),
    [loaded, matching],
  )
  /** Selects the loaded tasks; if they are selected already, all that match. */
  const selectLoaded = () => {
    const isRepeated = items.length > 0 && items.every(({ id }) => ids.has(id))
    if (isRepeated && matching && matching.count > items.length) selectAll()
    else setIds(loaded)
  }
  return { ids, all, setIds, selectLoaded, selectAll }
}

/** Whether the task, or something in it, has the focus. */
const isFocused = (id: string): boolean =>
  document.activeElement?.closest('[data-task]')?.getAttribute('data-task') === id ||
  document.activeElement?.closest('.panel') !== null
