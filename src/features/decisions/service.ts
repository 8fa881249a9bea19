import { and, count, eq, isNull, ne, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { anyOf, matches, newId } from '../../db/columns.ts'
import { keyset } from '../../db/page.ts'
import { byReference, changeVersioned, idStarts } from '../../db/records.ts'
import { AppError, notFound } from '../../errors.ts'
import { speaker } from '../agents/parties.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import type {
  Alternative,
  Comment,
  Decision,
  DecisionCreate,
  DecisionDetail,
  DecisionItem,
  DecisionLogged,
  DecisionPage,
  DecisionPatch,
  DecisionQuery,
} from './schema.ts'
import { decisionComments, decisions } from './table.ts'

const columns = {
  id: decisions.id,
  createdAt: decisions.createdAt,
  updatedAt: decisions.updatedAt,
  version: decisions.version,
  organizationId: decisions.organizationId,
  projectId: decisions.projectId,
  title: decisions.title,
  status: decisions.status,
  tags: decisions.tags,
  authorType: decisions.authorType,
  authorId: decisions.authorId,
  authorName: decisions.authorName,
  supersedes: decisions.supersedes,
  supersededById: decisions.supersededById,
  context: decisions.context,
  decision: decisions.decision,
  rationale: decisions.rationale,
  alternatives: decisions.alternatives,
  outcome: decisions.outcome,
}
type Authored = { authorType: 'user' | 'agent'; authorId: string | null; authorName: string }
type Row = Omit<Decision, 'author'> & Authored
const withAuthor = <T extends Authored>({ authorType: type, authorId: id, authorName: name, ...rest }: T) => ({
  ...rest,
  author: { type, id, name },
})

const toItem = (row: Row): DecisionItem => {
  const { context: _, decision, rationale: __, alternatives: ___, outcome: ____, ...item } = row
  return { ...withAuthor(item), excerpt: decision.length > 160 ? `${decision.slice(0, 159)}…` : decision }
}

const live = isNull(decisions.deletedAt)
const visibleTo = (rights: Rights): SQL => {
  const ofTeam = and(isNull(decisions.projectId), anyOf(decisions.organizationId, rights.organizations))
  const inProject = sql`exists (select 1 from ${projectTable} where ${projectTable.id} = ${decisions.projectId} and ${projects.visibleTo(rights)})`
  return and(live, anyOf(decisions.organizationId, rights.reach), or(ofTeam, inProject)) as SQL
}

const select = (ctx: Ctx, where: SQL | undefined) =>
  ctx.db
    .select(columns)
    .from(decisions)
    .where(and(where, visibleTo(rightsOf(ctx.actor))))
    .$dynamic()

export async function find(ctx: Ctx, ref: string): Promise<Decision> {
  const found = await byReference<Row>(ref, {
    id: (id) => select(ctx, eq(decisions.id, id)),
    name: async () => [],
    prefix: (prefix) => select(ctx, idStarts(decisions.id, prefix)).limit(2),
  })
  if (!found) throw notFound('decision', ref)
  return withAuthor(found)
}

export const list = read('decisions.list', member('decisions:read'), async (ctx, query: DecisionQuery): Promise<DecisionPage> => {
  const page = keyset({ updatedAt: decisions.updatedAt, createdAt: decisions.createdAt }, decisions.id, query, { sort: 'updatedAt' })
  const filters = and(
    query.projectId ? eq(decisions.projectId, query.projectId) : eq(decisions.organizationId, currentOrganization(ctx.actor)),
    query.status && eq(decisions.status, query.status),
    query.tag === undefined ? undefined : sql`${decisions.tags} @> array[${query.tag}]::text[]`,
    query.search ? matches(decisions.search, query.search) : undefined,
  )
  const rows = await select(ctx, page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const total = query.total
    ? (
        await ctx.db
          .select({ n: count() })
          .from(decisions)
          .where(and(filters, visibleTo(rightsOf(ctx.actor))))
      )[0]?.n
    : undefined
  return page.page(rows.map(toItem), total)
})

/** The same for whoever names a project as people do. */
export const listNamed = read(
  'decisions.listNamed',
  member('decisions:read'),
  async (ctx, { project, ...query }: DecisionQuery & { project?: string }): Promise<DecisionPage> =>
    list(ctx, project === undefined ? query : { ...query, projectId: (await projects.resolve(ctx, project)).id }),
)

const detailOf = async (ctx: Ctx, decision: Decision): Promise<DecisionDetail> => {
  const rows = await ctx.db
    .select({
      id: decisionComments.id,
      authorType: decisionComments.authorType,
      authorId: decisionComments.authorId,
      authorName: decisionComments.authorName,
      body: decisionComments.body,
      createdAt: decisionComments.createdAt,
    })
    .from(decisionComments)
    .where(eq(decisionComments.decisionId, decision.id))
    .orderBy(decisionComments.createdAt, decisionComments.id)
    .limit(500)
  return { ...decision, discussion: rows.map(withAuthor) }
}

export const get = read(
  'decisions.get',
  member('decisions:read'),
  async (ctx, { ref }: { ref: string }): Promise<DecisionDetail> => detailOf(ctx, await find(ctx, ref)),
)

export const create = write('decisions.create', member('decisions:write'), async (ctx, input: DecisionCreate): Promise<DecisionLogged> => {
  const named = input.projectId ?? ctx.actor.projectId
  const project = named ? await projects.resolve(ctx, named) : undefined
  const place = { organizationId: project?.organizationId ?? currentOrganization(ctx.actor), projectId: project?.id ?? null }
  await projects.requireWriter(ctx, place, 'Logging a decision')
  const id = newId()
  if (input.supersedes) await supersede(ctx, input.supersedes, id, place.organizationId)
  const author = speaker(ctx)
  await ctx.db.insert(decisions).values({
    id,
    ...place,
    createdById: ctx.actor.userId,
    authorType: author.type,
    authorId: author.id,
    authorName: author.name,
    title: input.title.trim(),
    context: input.context,
    decision: input.decision,
    rationale: input.rationale,
    alternatives: options(input.alternatives ?? []),
    status: input.status ?? 'accepted',
    tags: input.tags ?? [],
    supersedes: input.supersedes,
    createdAt: ctx.now,
    updatedAt: ctx.now,
  })
  const decision = await find(ctx, id)
  announce(ctx, 'decision.logged', decision)
  return { ...decision, similar: await similarTo(ctx, decision) }
})

const options = (given: readonly (string | Alternative)[]): Alternative[] => given.map((a) => (typeof a === 'string' ? { option: a } : a))

async function supersede(ctx: Ctx, ref: string, by: string, organizationId: string): Promise<void> {
  const old = await find(ctx, ref)
  if (old.organizationId !== organizationId) throw notFound('decision', ref)
  await projects.requireWriter(ctx, old, 'Superseding a decision')
  if (old.supersededById)
    throw new AppError('conflict', `"${old.title}" is superseded already, by ${old.supersededById}. Supersede that one.`)
  await ctx.db
    .update(decisions)
    .set({ status: 'superseded', supersededById: by, updatedAt: ctx.now, version: sql`${decisions.version} + 1` })
    .where(eq(decisions.id, old.id))
  announce(ctx, 'decision.superseded', old, { by })
}

/** Earlier ones about the same thing, by their words: whoever decides anew should know. */
async function similarTo(ctx: Ctx, { id, title, projectId }: Decision): Promise<DecisionLogged['similar']> {
  const words = title.split(/\s+/).filter((w) => w.length > 3)
  if (words.length === 0) return []
  const rows = await select(
    ctx,
    and(
      ne(decisions.id, id),
      isNull(decisions.supersededById),
      projectId ? eq(decisions.projectId, projectId) : undefined,
      matches(decisions.search, words.slice(0, 12).join(' or ')),
    ),
  )
    .orderBy(sql`${decisions.updatedAt} desc`)
    .limit(5)
  return rows.map((row) => ({ id: row.id, title: row.title, status: row.status }))
}

export const update = write(
  'decisions.update',
  member('decisions:write'),
  async (ctx, { ref, ...patch }: DecisionPatch & { ref: string }): Promise<Decision> => {
    const before = await find(ctx, ref)
    await projects.requireWriter(ctx, before, 'Changing this decision')
    checkVersion(ctx, before)
    if (before.status === 'superseded' && patch.status) throw new AppError('conflict', 'This decision is superseded; its status stays.')
    const { alternatives, title, ...plain } = patch
    await changeVersioned(ctx, decisions, {
      columns: { id: decisions.id, version: decisions.version },
      before: { id: before.id, version: before.version },
      set: { ...plain, ...(title !== undefined && { title: title.trim() }), ...(alternatives && { alternatives: options(alternatives) }) },
      what: 'this decision',
      again: () => find(ctx, before.id),
    })
    const after = await find(ctx, before.id)
    announce(ctx, 'decision.updated', after, { fields: Object.keys(patch) })
    return after
  },
  { versioned: true },
)

export const comment = write(
  'decisions.comment',
  member('decisions:write'),
  async (ctx, { ref, body }: { ref: string; body: string }): Promise<Comment> => {
    const decision = await find(ctx, ref)
    await projects.requireWriter(ctx, decision, 'Discussing this decision')
    const author = speaker(ctx)
    const values = {
      decisionId: decision.id,
      authorType: author.type,
      authorId: author.id,
      authorName: author.name,
      body,
      createdAt: ctx.now,
    }
    const [row] = await ctx.db.insert(decisionComments).values(values).returning({ id: decisionComments.id })
    announce(ctx, 'decision.commented', decision, { commentId: row?.id })
    return { id: (row as { id: string }).id, author, body, createdAt: ctx.now }
  },
)

/** For the one tool that reads a decision and may add to it in the same step. */
export const discuss = write(
  'decisions.discuss',
  member('decisions:write'),
  async (ctx, { ref, body, outcome }: { ref: string; body?: string; outcome?: string }): Promise<DecisionDetail> => {
    if (body !== undefined) await comment(ctx, { ref, body })
    if (outcome !== undefined) await update(ctx, { ref, outcome })
    return detailOf(ctx, await find(ctx, ref))
  },
)

export const remove = write(
  'decisions.remove',
  member('decisions:write'),
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const before = await find(ctx, ref)
    await projects.requireWriter(ctx, before, 'Deleting this decision')
    checkVersion(ctx, before)
    await ctx.db
      .update(decisions)
      .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${decisions.version} + 1` })
      .where(eq(decisions.id, before.id))
    announce(ctx, 'decision.deleted', before)
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

function announce(ctx: Ctx, type: string, decision: Decision, data: Record<string, unknown> = {}): void {
  ctx.emit(type, {
    subjectId: decision.id,
    organizationId: decision.organizationId,
    projectId: decision.projectId,
    data: { title: decision.title, status: decision.status, version: decision.version, ...data },
  })
}
