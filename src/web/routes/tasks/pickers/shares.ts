/** How much of a selection has a value, and what the selection is called. */
import { count } from '../../../words.ts'
import type { PickedTask } from './field.ts'

/** A tick for what all tasks have, a dash for what some have. */
export function share(items: readonly PickedTask[], has: (task: PickedTask) => boolean): 'all' | 'some' | undefined {
  const n = items.filter(has).length
  return n === 0 ? undefined : n === items.length ? 'all' : 'some'
}

export const subjectOf = (items: readonly Pick<PickedTask, 'key'>[]): string =>
  items.length === 1 ? (items[0]?.key ?? '') : count(items.length, 'task')
