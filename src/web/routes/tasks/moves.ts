/** The columns of a board, and what moving a card does to them. */
import type { TaskGroups } from '../../../features/tasks/lists/list-schema.ts'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { isClosed, type Status } from '../../../records/task-states.ts'

export type BoardGroup = TaskGroups['groups'][number]

/** What an arrow key does to a card. */
export type CardStep = 'up' | 'down' | 'left' | 'right'

export interface CardMove {
  task: TaskItem
  status: Status
  /** The card above its new place; null: first in the column; undefined: it is shown first, and keeps its place. */
  after: TaskItem | null | undefined
}

/** The flags that a card keeps in another column; the server adds new ones. */
const flagsAfter = ({ flags = [] }: TaskItem, status: Status) =>
  isClosed(status) ? [] : flags.filter((flag) => flag !== 'ready' && flag !== 'waits_for_you')

/** Whether only the server knows the flags of the card in that column. */
export const mayChangeFlags = ({ status: before, flags = [] }: TaskItem, status: Status): boolean =>
  status !== before && (status === 'todo' || status === 'in_review' || flags.some((flag) => flag !== 'ready'))

/** The board as it will be after the move. The card may have got another version since the move was asked for. */
export function moveCard(board: TaskGroups, { task, status, after }: CardMove): TaskGroups {
  const card = board.groups.flatMap(({ items }) => items.filter(({ id }) => id === task.id))[0] ?? task
  const groups = board.groups.map((group) => {
    const had = group.items.some(({ id }) => id === task.id)
    if (!had && group.value !== status) return group
    const items = group.items.filter(({ id }) => id !== task.id)
    if (group.value === status) {
      const place = after ? items.findIndex(({ id }) => id === after.id) + 1 : 0
      items.splice(place, 0, status === card.status ? card : { ...card, status, flags: flagsAfter(card, status) })
    }
    return { ...group, items, total: group.total + Number(group.value === status) - Number(had) }
  })
  return { groups }
}

/** The board with what the server stored of a card; of a card that went on meanwhile only the version. */
export const replaceCard = (board: TaskGroups, task: TaskItem): TaskGroups => ({
  groups: board.groups.map((group) => {
    const place = group.items.findIndex(({ id }) => id === task.id)
    const shown = group.items[place]
    if (!shown) return group
    // Flags and counts come with lists only.
    const next = group.value === task.status ? { ...shown, ...task } : { ...shown, version: task.version }
    return { ...group, items: group.items.with(place, next) }
  }),
})

/** The card above the place where one was dropped: the card it was dropped on, or the one before that. */
export function cardAboveDrop(
  group: BoardGroup,
  task: TaskItem,
  beside: TaskItem | undefined,
  edge: string | null,
): TaskItem | null {
  const others = group.items.filter(({ id }) => id !== task.id)
  if (!beside || beside.id === task.id) return others.at(-1) ?? null
  const place = others.findIndex(({ id }) => id === beside.id)
  return (edge === 'top' ? others[place - 1] : others[place]) ?? null
}

/**
 * The move that an arrow key makes; undefined at the edge of the board. The card is taken from the board, because the
 * key may be pressed again before the card is drawn with its new status.
 */
export function stepCard(board: TaskGroups, id: string, step: CardStep): CardMove | undefined {
  const column = board.groups.findIndex(({ items }) => items.some((item) => item.id === id))
  const group = board.groups[column]
  const place = group?.items.findIndex((item) => item.id === id) ?? -1
  const task = group?.items[place]
  if (!group || !task) return undefined
  if (step === 'up') return place > 0 ? { task, status: group.value, after: group.items[place - 2] ?? null } : undefined
  if (step === 'down') {
    const below = group.items[place + 1]
    return below && { task, status: group.value, after: below }
  }
  const next = board.groups[column + (step === 'left' ? -1 : 1)]
  return next && { task, status: next.value, after: next.items[Math.min(place, next.items.length) - 1] ?? null }
}
