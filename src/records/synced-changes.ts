import { anything, defineEvent } from '../events/catalogue.ts'
import type { Emitter } from '../events/emit.ts'

/**
 * Lists records that changed together with another one, or that left a container. Sync follows the events, so every
 * changed record must be named by an event of its container. The action itself emits its own event for feeds.
 */
export const recordsChanged = defineEvent('synced_record.changed', {
  kind: 'synced_record',
  feed: 'none',
  follows: true,
  description: 'Other records changed too; `changed` lists their ids by kind',
  data: { changed: anything },
})

/** The container of a record: its project, else its organization, else its owner. */
interface ContainerIds {
  organizationId: string | null
  projectId?: string | null
  /** The owner of a personal record. */
  userId?: string | null
}

/** Ids in one event. */
const MOST = 1000

/** Emits events of a container that list these records of a kind. */
export function emitChanged(
  ctx: Emitter,
  kind: string,
  { organizationId, projectId = null, userId = null }: ContainerIds,
  ids: readonly string[],
): void {
  for (let start = 0; start < ids.length; start += MOST)
    ctx.emit(recordsChanged, {
      organizationId,
      projectId,
      userId: organizationId ? null : userId,
      data: { changed: { [kind]: ids.slice(start, start + MOST) } },
    })
}

/** Like `emitChanged`, for records of several containers. */
export function emitChangedRows(ctx: Emitter, kind: string, rows: readonly (ContainerIds & { id: string })[]): void {
  const groups = Map.groupBy(
    rows,
    ({ organizationId, projectId, userId }) => `${organizationId} ${projectId} ${userId}`,
  )
  for (const group of groups.values())
    if (group[0])
      emitChanged(
        ctx,
        kind,
        group[0],
        group.map(({ id }) => id),
      )
}

/** Emits an event in the old container of a record that was moved. */
export function emitMoved(ctx: Emitter, kind: string, id: string, before: ContainerIds, after: ContainerIds): void {
  const key = ({ organizationId, projectId = null, userId = null }: ContainerIds) =>
    projectId ?? organizationId ?? `user ${userId}`
  if (key(before) !== key(after)) emitChanged(ctx, kind, before, [id])
}
