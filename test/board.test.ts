import { expect, test } from 'bun:test'
import type { TaskGroups } from '../src/features/tasks/lists/list-schema.ts'
import type { TaskItem } from '../src/features/tasks/schema.ts'
import type { Status } from '../src/records/task-states.ts'
import { type CardMove, moveCard, replaceCard, stepCard } from '../src/web/routes/tasks/moves.ts'

/** Moves of a card on the board that follow each other faster than the page is drawn or the server responds. */
const card = (status: Status, version: number) => ({ id: 'a', key: 'TUT-1', status, version }) as TaskItem
const board = (at: TaskItem): TaskGroups => ({
  groups: (['todo', 'in_progress', 'blocked'] as const).map((value) => ({
    value,
    items: value === at.status ? [at] : [],
    total: Number(value === at.status),
  })) as TaskGroups['groups'],
})
const shownCards = ({ groups }: TaskGroups) =>
  groups.flatMap(({ value, items }) => items.map((item) => ({ ...item, value })))

test('a second arrow key moves the card from its new place, even before it was drawn there', () => {
  const first = stepCard(board(card('todo', 1)), 'a', 'right') as CardMove
  const second = stepCard(moveCard(board(card('todo', 1)), first), 'a', 'right')
  expect(second).toMatchObject({ status: 'blocked', task: { status: 'in_progress' } })
})

test('a moved card keeps a version that arrived between the key press and the move', () => {
  const before = board(card('in_progress', 1))
  const move = stepCard(before, 'a', 'right') as CardMove
  const after = moveCard(replaceCard(before, card('in_progress', 2)), move)
  expect(shownCards(after)).toMatchObject([{ value: 'blocked', status: 'blocked', version: 2 }])
})
