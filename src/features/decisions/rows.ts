import { desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import type { Project } from '../projects/schema.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import type { Decision, DecisionItem } from './schema.ts'
import { decisions } from './table.ts'

/** The columns that lists and single reads share. */
const sharedColumns = {
  id: decisions.id,
  createdAt: decisions.createdAt,
  updatedAt: decisions.updatedAt,
  version: decisions.version,
  organizationId: decisions.organizationId,
  createdById: decisions.createdById,
  projectId: decisions.projectId,
  title: decisions.title,
  status: decisions.status,
  tags: decisions.tags,
  authorType: decisions.authorType,
  authorId: decisions.authorId,
  authorName: decisions.authorName,
  supersedes: decisions.supersedes,
  supersededById: decisions.supersededById,
}
export const decisionColumns = {
  ...sharedColumns,
  context: decisions.context,
  decision: decisions.decision,
  rationale: decisions.rationale,
  alternatives: decisions.alternatives,
  outcome: decisions.outcome,
}
type AuthorColumns = { authorType: 'user' | 'agent'; authorId: string | null; authorName: string }
type Row = Omit<Decision, 'author'> & AuthorColumns
export const withAuthor = <T extends AuthorColumns>({
  authorType: type,
  authorId: id,
  authorName: name,
  ...rest
}: T) => ({
  ...rest,
  author: { type, id, name },
})

const decisionItemColumns = {
  ...sharedColumns,
  excerpt: sql<string>`case when length(${decisions.decision}) > 160 then left(${decisions.decision}, 159) || '…'
      else ${decisions.decision} end`,
}

export const visibleTo = liveOfTeamOrProject(decisions)

const selectDecisions = (ctx: Ctx, where: SQL | undefined) =>
  ctx.db
    .select(decisionColumns)
    .from(decisions)
    .where(and(where, visibleTo(rightsOf(ctx.actor))))
    .$dynamic()

export const selectItems = (ctx: Ctx, where: SQL | undefined) =>
  ctx.db
    .select(decisionItemColumns)
    .from(decisions)
    .where(and(where, visibleTo(rightsOf(ctx.actor))))
    .$dynamic()

export async function findDecision(ctx: Ctx, ref: string): Promise<Decision> {
  const found = await findByReference<Row>(ref, {
    id: (id) => selectDecisions(ctx, eq(decisions.id, id)),
    name: async () => [],
    prefix: (prefix) => selectDecisions(ctx, idStartsWith(decisions.id, prefix)).limit(2),
  })
  if (!found) throw notFound('decision', ref)
  return withAuthor(found)
}

/** Returns the last decisions of a project and of its whole team. */
export async function latestDecisions(ctx: Ctx, project: Project, status: Decision['status']): Promise<DecisionItem[]> {
  const rows = await selectItems(ctx, and(ofProjectOrTeam(project), eq(decisions.status, status)))
    .orderBy(desc(decisions.updatedAt), desc(decisions.id))
    .limit(12)
  return rows.map(withAuthor)
}

/** SQL condition: decisions of the project, and those of its team without a project. */
export const ofProjectOrTeam = ({ id, organizationId }: { id: string | null; organizationId: string }): SQL =>
  and(
    eq(decisions.organizationId, organizationId),
    or(isNull(decisions.projectId), id ? eq(decisions.projectId, id) : undefined),
  )

export const decisionEvent = <D extends object>(decision: Decision, data?: D) => ({
  subjectId: decision.id,
  organizationId: decision.organizationId,
  projectId: decision.projectId,
  data: Object.assign({ title: decision.title, status: decision.status, version: decision.version }, data),
})
