/** On a phone one column of the board fills the screen. It opens where work is, and later where the reader left it. */
import { type RefObject, useLayoutEffect } from 'react'
import type { Status } from '../../records/task-states.ts'

/** By address of the board, while the tab is open. */
const lastColumns = new Map<string, Status>()
const preferred: readonly Status[] = ['in_progress', 'in_review', 'todo']

export const rememberColumn = (status: Status | undefined): void => {
  if (status) lastColumns.set(location.pathname, status)
}

/** Returns the column to begin with. */
export function firstColumn(groups: readonly { value: Status; total: number }[]): Status | undefined {
  const last = lastColumns.get(location.pathname)
  const isListed = (status: Status) => groups.some(({ value }) => value === status)
  if (last && isListed(last)) return last
  return (
    preferred.find((status) => groups.some(({ value, total }) => value === status && total > 0)) ?? groups[0]?.value
  )
}

/** Scrolls to the column once, before the board is seen. Wide screens show all columns from the first. */
export function useFirstColumn(strip: RefObject<HTMLElement | null>, status: Status | undefined): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the first column counts
  useLayoutEffect(() => {
    if (!matchMedia('(max-width: 767px)').matches) return
    const column = strip.current?.querySelector<HTMLElement>(`[data-column=${status}]`)
    column?.scrollIntoView({ inline: 'start', block: 'nearest', behavior: 'instant' })
  }, [])
}
