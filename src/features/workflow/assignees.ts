import { and, eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { users } from '../accounts/table.ts'
import * as agents from '../agents/service.ts'
import { memberships } from '../organizations/table.ts'
import { readersOf } from '../projects/readers.ts'
import type { Project } from '../projects/schema.ts'

export interface Assigned {
  assigneeType: 'user' | 'agent'
  assigneeId: string
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** `me`, a user of the project's team by id or e-mail, or an agent by id, slug or prefix. Whoever it is must be able to see the project. */
export async function resolveAssignee(ctx: Ctx, project: Project, ref: string): Promise<Assigned> {
  const wanted = ref.trim()
  if (wanted.toLowerCase() === 'me') return { assigneeType: 'user', assigneeId: userIdOf(ctx.actor) }
  const isEmail = wanted.includes('@')
  if (isEmail || uuid.test(wanted)) {
    const [user] = await ctx.db
      .select({ id: users.id })
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(
        and(
          eq(memberships.organizationId, project.organizationId),
          eq(users.status, 'active'),
          isEmail ? sql`lower(${users.email}) = ${wanted.toLowerCase()}` : eq(users.id, wanted.toLowerCase()),
        ),
      )
    if (user) {
      if ((await readersOf(ctx, project.id, [user.id])).length === 0)
        throw invalid('/assignee', 'This project is private, and the assignee cannot see it. Share it with the team first.')
      return { assigneeType: 'user', assigneeId: user.id }
    }
  }
  if (isEmail) throw notFound('member', wanted)
  const agent = await agents.resolve(ctx, wanted).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'not_found' ? notFound('member or agent', wanted) : error
  })
  if (agent.scope !== 'public' && agent.organizationId !== project.organizationId)
    throw invalid('/assignee', "This agent is not one of the project's team. Share it with the team first.")
  if (agent.status === 'archived') throw invalid('/assignee', 'This agent is archived.')
  return { assigneeType: 'agent', assigneeId: agent.id }
}
