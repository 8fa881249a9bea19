import { sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { type SyncEntity, validateFields } from '../../../records/sync.ts'
import { id, object, oneOf, optional, type Static } from '../../../schema.ts'
import { HIDDEN } from '../rows.ts'
import { kinds } from '../schema.ts'
import { update } from '../service.ts'
import { taskDependencies } from '../table.ts'
import { relateTasks, visibleBlockers } from './dependencies.ts'

const Dependency = object({ taskId: id(), blockedById: id(), kind: optional(oneOf(kinds)) })
type Dependency = Static<typeof Dependency>

/** Adds or removes a dependency. Blockers are changed with their task; other relations by themselves. */
async function set(ctx: Ctx, dependencyId: string, { taskId, blockedById, kind }: Dependency, isThere: boolean) {
  if (kind !== undefined && kind !== 'blocks')
    return relateTasks(ctx, { ref: taskId, task: blockedById, kind: isThere ? kind : null, id: dependencyId })
  const others = (await visibleBlockers(ctx, taskId)).filter((other) => other !== blockedById)
  const blockedBy = [...others, HIDDEN, ...(isThere ? [blockedById] : [])]
  return update(ctx, { ref: taskId, blockedBy, dependencyId })
}

/** Devices add and remove dependencies of tasks. A dependency belongs to the containers of both tasks. */
export const dependencySync: SyncEntity<Ctx> = {
  entity: 'dependency',
  table: taskDependencies,
  scope: 'tasks:read',
  version: sql`1`,
  columns: {
    id: taskDependencies.id,
    taskId: taskDependencies.taskId,
    blockedById: taskDependencies.blockedById,
    kind: taskDependencies.kind,
    createdAt: taskDependencies.createdAt,
  },
  fields: {},
  onCreate: ['taskId', 'blockedById', 'kind'],
  ends: [
    { kind: 'task', id: taskDependencies.taskId },
    { kind: 'task', id: taskDependencies.blockedById },
  ],
  create: (ctx, id, fields) => set(ctx, id, validateFields(Dependency, fields), true),
  remove: (ctx, { id, taskId, blockedById, kind }) =>
    set(ctx, id, validateFields(Dependency, { taskId, blockedById, kind }), false),
}
