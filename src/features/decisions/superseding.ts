import { desc, eq, isNull, ne, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { throwIfRefused } from '../../auth/policy.ts'
import { matches } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import * as projects from '../projects/rows.ts'
import { decisionSuperseded } from './events.ts'
import { supersededRefusal } from './refusals.ts'
import { decisionEvent, findDecision, ofProjectOrTeam, selectItems } from './rows.ts'
import type { Decision, DecisionLogged } from './schema.ts'
import { decisions } from './table.ts'

/** Finds a decision of the team that is not superseded yet. It is always older, so no cycle can arise. */
export async function findReplaceable(ctx: Ctx, ref: string, organizationId: string): Promise<Decision> {
  const old = await findDecision(ctx, ref)
  if (old.organizationId !== organizationId) throw notFound('decision', ref)
  await projects.requireWriter(ctx, old, 'Superseding a decision')
  throwIfRefused(supersededRefusal(old))
  return old
}

/** Marks a decision as superseded. Only one of several concurrent callers succeeds, the others get a conflict. */
export async function supersedeDecision(ctx: Ctx, old: Decision, by: string): Promise<void> {
  const [done] = await ctx.db
    .update(decisions)
    .set({ status: 'superseded', supersededById: by, updatedAt: ctx.now, version: sql`${decisions.version} + 1` })
    .where(and(eq(decisions.id, old.id), isNull(decisions.supersededById)))
    .returning({ id: decisions.id })
  const after = await findDecision(ctx, old.id)
  if (!done) throwIfRefused(supersededRefusal(after))
  ctx.emit(decisionSuperseded, decisionEvent(after, { by }))
}

/** When a proposal is accepted, supersedes the decision that it replaces. */
export async function supersedeByAccepted(ctx: Ctx, decision: Decision, supersedes: string): Promise<void> {
  const old = await findDecision(ctx, supersedes)
  if (old.supersededById === decision.id) return
  await supersedeDecision(ctx, await findReplaceable(ctx, supersedes, decision.organizationId), decision.id)
}

/** Returns earlier decisions that contain half of the title's words, so that the author learns of them. */
export async function similarDecisions(
  ctx: Ctx,
  { id, title, projectId, organizationId, supersedes }: Decision,
): Promise<DecisionLogged['similar']> {
  const words = [...new Set(title.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu))].slice(0, 12)
  if (words.length === 0) return []
  const shared = sql<number>`(${sql.join(
    words.map((word) => sql`(${decisions.search} @@ plainto_tsquery('simple', ${word}))::int`),
    sql` + `,
  )})`
  const rows = await selectItems(
    ctx,
    and(
      ofProjectOrTeam({ id: projectId, organizationId }),
      ne(decisions.id, id),
      supersedes ? ne(decisions.id, supersedes) : undefined,
      isNull(decisions.supersededById),
      matches(decisions.search, words.join(' or ')),
      sql`${shared} * 2 >= ${words.length}`,
    ),
  )
    .orderBy(desc(shared), desc(decisions.updatedAt))
    .limit(5)
  return rows.map((row) => ({ id: row.id, title: row.title, status: row.status }))
}
