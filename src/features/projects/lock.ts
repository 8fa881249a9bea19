import { eq } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { projects } from './table.ts'

/** Locks a project until the transaction ends, for whoever numbers or orders its work: concurrent callers see what the first one did. */
export const lockProject = (ctx: Ctx, projectId: string): Promise<unknown> =>
  ctx.db.select({ id: projects.id }).from(projects).where(eq(projects.id, projectId)).for('no key update')
