import { count } from '../../../words.ts'

export const words = {
  titleIn: (group: string) => `Title of a new task in ${group}`,
  addList: (n: number) => `Add ${count(n, 'task')}?`,
  added: (keys: readonly string[], mayHide: boolean) =>
    `${keys.length === 1 ? keys[0] : count(keys.length, 'task')} added${mayHide ? '. The filters may hide it.' : ''}`,
  notAdded: (n: number, reason: string) => `${count(n, 'task')} not added: ${reason}`,
  addedElsewhere: (state: string, wanted: string, reason: string) =>
    `Created in ${state}, but not moved to ${wanted}: ${reason}`,
  keys: { add: 'add', leave: 'leave', discard: 'discard' },
} as const
