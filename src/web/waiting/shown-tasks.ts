/** A task in the loaded data: on its page, in lists and on boards. */
import type { TaskDetail, TaskItem } from '../../features/tasks/schema.ts'
import { queryClient } from '../query-client.ts'

type Shown = TaskItem | TaskDetail
type Change = (task: Shown) => Shown

interface Group {
  value: string | null
  total: number
  items: readonly TaskItem[]
}
/** What queries about tasks return: one task, tasks, pages of them, or groups. */
interface Loaded {
  id?: string
  groups?: readonly Group[]
  pages?: readonly { items: readonly TaskItem[] }[]
}

const names = new Set<unknown>(['task', 'tasks', 'at work'])

/** Changes the task wherever it is loaded. The time of loading stays. */
export function changeInCache(id: string, change: Change): void {
  for (const query of queryClient.getQueryCache().findAll({ predicate: ({ queryKey: [name] }) => names.has(name) })) {
    const { data, dataUpdatedAt } = query.state
    const isByState = query.queryKey[2] === 'board' || query.queryKey[3] === 'status'
    const next = changeIn(data as Loaded | readonly TaskItem[] | undefined, id, change, isByState)
    if (next !== data) query.setData(next, { updatedAt: dataUpdatedAt, manual: true })
  }
}

function changeIn(
  data: Loaded | readonly TaskItem[] | undefined,
  id: string,
  change: Change,
  isByState: boolean,
): unknown {
  if (!data || typeof data !== 'object') return data
  if ('length' in data) return changeItem(data, id, change)
  if (data.id === id) return change(data as Shown)
  if (data.pages)
    return replaceSome(data, 'pages', data.pages, (page) => replaceItems(page, changeItem(page.items, id, change)))
  if (!data.groups) return data
  const changed = replaceSome(data, 'groups', data.groups, (group) =>
    replaceItems(group, changeItem(group.items, id, change)),
  )
  return isByState ? moveToState(changed, id) : changed
}

function changeItem(items: readonly TaskItem[], id: string, change: Change): readonly TaskItem[] {
  const place = items.findIndex((item) => item.id === id)
  const item = items[place]
  return item ? items.with(place, change(item) as TaskItem) : items
}

const replaceItems = <T extends { items: readonly TaskItem[] }>(part: T, items: readonly TaskItem[]): T =>
  items === part.items ? part : { ...part, items }

/** Data whose parts stay the same stays the same, so that nothing is drawn again. */
function replaceSome<T>(data: Loaded, name: 'pages' | 'groups', parts: readonly T[], change: (part: T) => T): Loaded {
  const next = parts.map(change)
  return next.every((part, place) => part === parts[place]) ? data : { ...data, [name]: next }
}

/** A task whose state was changed goes to the end of its group, unless it is there. */
function moveToState(data: Loaded, id: string): Loaded {
  const from = data.groups?.find(({ items }) => items.some((item) => item.id === id))
  const task = from?.items.find((item) => item.id === id)
  if (!data.groups || !task || from?.value === task.status) return data
  return {
    ...data,
    groups: data.groups.map((group) => {
      if (group === from)
        return { ...group, total: group.total - 1, items: group.items.filter((item) => item !== task) }
      return group.value === task.status ? { ...group, total: group.total + 1, items: [...group.items, task] } : group
    }),
  }
}
