import { and, eq, isNull, type SQL } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { notFound } from '../../errors.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import { findUserOrAgent } from '../agents/users-and-agents.ts'
import type { Project } from '../projects/schema.ts'
import * as specs from '../specs/rows.ts'
import { tasks } from '../tasks/table.ts'
import { findIn } from './reading.ts'

/** Resolves the references of a feature. Features, tasks and the spec have to belong to its project. */

export async function findAssignee(ctx: Ctx, project: Project, ref: string) {
  const { type, id } = await findUserOrAgent(ctx, project, ref)
  return { assigneeType: type, assigneeId: id }
}

export async function featuresIn(ctx: Ctx, project: Project, refs: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const ref of refs) ids.push((await findIn(ctx, ref, project)).row.id)
  return [...new Set(ids)]
}

/** Finds tasks by id, `TUT-42` or the unique beginning of an id. */
export async function tasksIn(ctx: Ctx, project: Project, refs: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const ref of refs) {
    const select = (match: SQL) =>
      ctx.db
        .select({ id: tasks.id })
        .from(tasks)
        .where(and(match, eq(tasks.projectId, project.id), isNull(tasks.deletedAt)))
        .limit(2)
    const found = await findByReference<{ id: string }>(ref, {
      id: (id) => select(eq(tasks.id, id)),
      name: async (key) => {
        const number = key.toUpperCase().startsWith(`${project.key}-`) ? /-(\d{1,9})$/.exec(key)?.[1] : undefined
        return number ? select(eq(tasks.number, Number(number))) : []
      },
      prefix: (prefix) => select(idStartsWith(tasks.id, prefix)),
    })
    if (!found) throw notFound('task', ref, `in ${project.key}`)
    ids.push(found.id)
  }
  return [...new Set(ids)]
}

export async function specIn(ctx: Ctx, project: Project, ref: string): Promise<string> {
  const { id, projectId } = await specs.findSpec(ctx, ref, project)
  if (projectId !== project.id) throw notFound('spec', ref, `in ${project.key}`)
  return id
}
