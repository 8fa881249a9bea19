import { eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { projects } from './table.ts'

/** Locks a project until the transaction ends, so that concurrent writers number and order its work in turn. */
export const lockProject = (ctx: Ctx, projectId: string): Promise<unknown> =>
  ctx.db.select({ id: projects.id }).from(projects).where(eq(projects.id, projectId)).for('no key update')
