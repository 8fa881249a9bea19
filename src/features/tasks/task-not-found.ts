import { eq, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { and } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { mayRead } from '../../records/readable.ts'
import { quoteText } from '../../text/quoting.ts'
import { projects } from '../projects/table.ts'
import { tasks } from './table.ts'

const key = /^([a-z]{2,6})-(\d{1,9})$/i
const NEAREST = 2

/**
 * Returns the error for a task that does not exist. For an agent whose token may read tasks, it also names the nearest
 * tasks of the project (`visible`): agents often confuse numbers, and would otherwise have to list the tasks. People
 * see the list anyway.
 */
export async function taskNotFound(ctx: Ctx, ref: string, visible: SQL): Promise<AppError> {
  const error = notFound('task', ref)
  const [, project, number] = key.exec(ref.trim()) ?? []
  if (!project || !ctx.actor.organizationId || ctx.actor.kind !== 'mcp_token') return error
  if (!mayRead(ctx, 'task')) return error
  const near = await ctx.db
    .select({ number: tasks.number, title: tasks.title })
    .from(tasks)
    .innerJoin(projects, eq(projects.id, tasks.projectId))
    .where(and(eq(projects.key, project.toUpperCase()), eq(projects.organizationId, ctx.actor.organizationId), visible))
    .orderBy(sql`abs(${tasks.number} - ${Number(number)}::int)`, tasks.number)
    .limit(NEAREST)
  if (near.length === 0) return error
  const named = near.map((task) => `${project.toUpperCase()}-${task.number} ${quoteText(task.title)}`)
  return new AppError('not_found', `${error.message} Nearest: ${named.join(', ')}.`, error.details)
}
