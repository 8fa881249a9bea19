import type { RefObject } from 'react'
import type { TaskGroups } from '../../../features/tasks/list-schema.ts'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/work.ts'
import type { Group, Move } from './moves.ts'
import type { Selection } from './selection.ts'

/** What the board gets from its page, and passes to its columns. */
export interface BoardProps {
  board: TaskGroups
  /** The key of the task that is open beside the board. */
  open: string | undefined
  onOpen(key: string): void
  onMove(move: Move): void
  onAdd(status: 'backlog' | 'todo'): void
  /** Loads more cards of a column; undefined while it does. */
  onMore: ((group: Group) => void) | undefined
  /** Does so because the end of a column comes near; undefined also where it has just failed. */
  onNear: ((group: Group) => void) | undefined
  /** How to bring a card of each column into view, by its place there. */
  scrollers: RefObject<Map<Status, (place: number) => void>>
  /** The board with moves that are not drawn yet: a second key may come before that. */
  now(): TaskGroups | undefined
  selection: Selection
  /** The card that arrow keys move without Alt. */
  moving: string | undefined
  onMoved(): void
  /** Asks where to move a card, where it cannot be dragged. */
  onMenu(task: TaskItem): void
  /** Whether the reader may add and move cards; the server says so. */
  may: boolean
}
