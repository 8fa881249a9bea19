import type { Ctx } from '../../../action.ts'
import { type Notice, notify } from '../../notifications/service.ts'
import type { TaskItem } from '../schema.ts'

/** What a batch has to tell one person. */
interface PersonNotice {
  /** How many tasks were assigned to them. */
  assigned: number
  /** How many of their tasks are no longer blocked. */
  freed: number
  first: Pick<TaskItem, 'id' | 'key' | 'title'>
}

/** The notifications of a batch, by the id of the person: everyone gets one, however many tasks change. */
export type BatchNotices = Record<string, PersonNotice>

export function addNotice(notices: BatchNotices, userId: string, what: 'assigned' | 'freed', task: TaskItem): void {
  const { id, key, title } = task
  notices[userId] ??= { assigned: 0, freed: 0, first: { id, key, title } }
  notices[userId][what]++
}

/** Adds the notices of a further part of the batch. */
export function mergeNotices(all: BatchNotices, more: BatchNotices): void {
  for (const [userId, { assigned, freed, first }] of Object.entries(more)) {
    all[userId] ??= { assigned: 0, freed: 0, first }
    all[userId].assigned += assigned
    all[userId].freed += freed
  }
}

/** Sends the notifications of a batch that this person made. */
export async function sendNotices(
  ctx: Ctx,
  notices: BatchNotices,
  by: { name: string; id: string | null },
): Promise<void> {
  const list = Object.entries(notices).map(([userId, one]): Notice => {
    const { assigned, freed, first } = one
    return {
      userId,
      reason: assigned > 0 ? 'assignment' : 'freed',
      title: titleOf(one),
      message:
        assigned > 0
          ? `${by.name} assigned ${assigned === 1 ? 'this task' : 'these tasks'} to you: ${namesOf(first, assigned + freed)}`
          : `${by.name} completed the tasks before: ${namesOf(first, freed)}`,
      about: { kind: 'task', id: first.id },
      ...(by.id && { from: { type: 'user', id: by.id } }),
    }
  })
  await notify(ctx, ...list)
}

const namesOf = ({ key, title }: PersonNotice['first'], all: number): string =>
  all === 1 ? title : `${key} ${title}, and ${all - 1} more`

function titleOf({ assigned, freed, first: { key } }: PersonNotice): string {
  if (assigned + freed === 1) return assigned ? `${key} was assigned to you` : `${key} can be started`
  const parts = [
    assigned > 0 && `${tasks(assigned)} ${assigned === 1 ? 'was' : 'were'} assigned to you`,
    freed > 0 && `${tasks(freed)} can be started`,
  ]
  return parts.filter(Boolean).join(', and ')
}

const tasks = (n: number): string => (n === 1 ? '1 task' : `${n} tasks`)
