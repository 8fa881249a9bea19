/**
 * Structural sharing by id: a task that has not changed stays the same object wherever it is in the list, so that its
 * card does not render again. By itself the cache compares rows by index, so every row after a new one would differ.
 * If nothing differs, the known value itself is returned: a new one would render the page again and again.
 */
import { type InfiniteData, replaceEqualDeep } from '@tanstack/react-query'
import type { TaskPage } from '../../../features/tasks/lists/list-schema.ts'
import type { TaskItem } from '../../../features/tasks/schema.ts'

type Rows = readonly { items: readonly TaskItem[] }[]

/** Returns the new parts with the known tasks in them; what does not differ is the known part, or the known list. */
function shareParts<P extends Rows[number]>(before: readonly P[], after: readonly P[]): readonly P[] {
  const known = new Map(before.flatMap(({ items }) => items.map((item) => [item.id, item])))
  const parts = after.map((part, place) => {
    const items = part.items.map((item) => replaceEqualDeep(known.get(item.id), item))
    const old = before[place]
    const isSame = old?.items.length === items.length && items.every((item, n) => item === old.items[n])
    return isSame ? replaceEqualDeep(old, { ...part, items }) : { ...part, items }
  })
  return parts.length === before.length && parts.every((part, n) => part === before[n]) ? before : parts
}

export function shareGroups<G extends Rows[number], T extends { groups: G[]; total?: number }>(
  before: T | undefined,
  after: T,
): T {
  if (!before) return after
  const groups = shareParts(before.groups, after.groups)
  return before.groups === groups && before.total === after.total ? before : { ...after, groups: [...groups] }
}

export function shareList(
  before: InfiniteData<TaskPage> | undefined,
  after: InfiniteData<TaskPage>,
): InfiniteData<TaskPage> {
  if (!before) return after
  const pages = shareParts(before.pages, after.pages)
  return before.pages === pages ? before : { ...after, pages: [...pages] }
}
