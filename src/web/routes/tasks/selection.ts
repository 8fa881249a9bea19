/** Which tasks are selected, and on which one the keys act. */
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { ChangeMatching } from '../../../features/tasks/many/many-schema.ts'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { useCommands } from '../../shortcuts.ts'
import { showTasks } from '../task/shown-tasks.ts'
import { words } from './words.ts'

/** All tasks that match the filters of the page, loaded or not: a selection that is a query. */
export interface AllMatching {
  where: ChangeMatching['where']
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
  /** Selects the loaded tasks; if they are selected already, all that match. */
  selectLoaded(): void
  /** The task as the list has it now. */
  latest(task: TaskItem): TaskItem
  /** How many tasks are loaded. */
  loaded(): number
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
  /** The key of the task that is open beside the list. */
  open?: string | undefined
}

export function useSelection({ items, reveal, matching, open }: Options): TaskSelection {
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
      selectLoaded,
      latest: (task) => latest.current[placeOf(task.id)] ?? task,
      loaded: () => latest.current.length,
      targets: () =>
        latest.current.filter(({ id }) => (ids.size > 0 ? ids.has(id) : id === cursor.current && isFocused(id))),
    }),
    [ids, all, matching, placeOf, setIds, selectLoaded, selectAll],
  )
  useEffect(() => showTasks(items), [items])
  useOpened(open, (key) => {
    const place = latest.current.findIndex((task) => task.key === key)
    if (place < 0) return
    cursor.current = latest.current[place]?.id
    reveal?.(place)
  })
  useSelectionKeys(selection, cursor, step)
  return selection
}

/** `j` `k` move the focus, `x` selects the task with the focus, and `⇧` with an arrow key extends the selection. */
function useSelectionKeys(
  selection: TaskSelection,
  cursor: RefObject<string | undefined>,
  step: (by: number, extend?: boolean) => void,
): void {
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
      run: selection.selectLoaded,
    },
  ])
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
  const selectLoaded = useCallback(() => {
    const isRepeated = loaded.size > 0 && [...loaded].every((id) => ids.has(id))
    if (isRepeated && matching && matching.count > loaded.size) selectAll()
    else setIds(loaded)
  }, [loaded, ids, matching, selectAll, setIds])
  return { ids, all, setIds, selectLoaded, selectAll }
}

/** Calls the function when another task is opened. */
function useOpened(key: string | undefined, follow: (key: string) => void): void {
  const latest = useRef(follow)
  latest.current = follow
  useEffect(() => {
    if (key !== undefined) latest.current(key)
  }, [key])
}

/** Whether the task has the focus. */
const isFocused = (id: string): boolean =>
  document.activeElement?.closest('[data-task]')?.getAttribute('data-task') === id
