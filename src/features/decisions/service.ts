import { eq, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member, requireRole } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { hasAll, matches, newId } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { changeVersioned } from '../../records/rows.ts'
import { speaker } from '../agents/parties.ts'
import { linkedWith } from '../links/linked.ts'
import { settle } from '../notifications/service.ts'
import { filteredProject, type ProjectFilter, projectOf } from '../projects/current.ts'
import { requireOpenProject } from '../projects/refusals.ts'
import * as projects from '../projects/rows.ts'
import { comment, commentsOn } from './comments.ts'
import { decisionLogged, decisionUpdated } from './events.ts'
import { tellOfProposal } from './proposals.ts'
import { can, canCreate, changing } from './refusals.ts'
import { about, find, selectItems, visibleTo, withAuthor } from './rows.ts'
import type {
  Alternative,
  Decision,
  DecisionCreate,
  DecisionDetail,
  DecisionLogged,
  DecisionPage,
  DecisionPatch,
  DecisionQuery,
} from './schema.ts'
import { replaceable, similarTo, supersede, supersedeByAccepted } from './superseding.ts'
import { decisionComments, decisions } from './table.ts'

const orders = { updatedAt: decisions.updatedAt, createdAt: decisions.createdAt }

/** SQL condition: the decision, its alternatives or one of its comments contain the words. */
const hasWords = (text: string): SQL =>
  or(
    matches(decisions.search, text),
    matches(decisions.searchAlternatives, text),
    sql`${decisions.id} in (select ${decisionComments.decisionId} from ${decisionComments}
      where ${matches(decisionComments.search, text)})`,
  )

export const list = read(
  'decisions.list',
  member('decisions:read'),
  async (ctx, query: DecisionQuery & ProjectFilter): Promise<DecisionPage> => {
    const page = keyset(orders, decisions.id, query, { sort: 'updatedAt' })
    const { id: projectId, project } = await filteredProject(ctx, query)
    const filters = and(
      projectId ? eq(decisions.projectId, projectId) : eq(decisions.organizationId, currentOrganization(ctx.actor)),
      query.status && eq(decisions.status, query.status),
      hasAll(decisions.tags, query.tag),
      query.search ? hasWords(query.search) : undefined,
    )
    const rows = await selectItems(ctx, page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const seen = and(filters, visibleTo(rightsOf(ctx.actor)))
    const total = query.total ? await ctx.db.$count(decisions, seen) : undefined
    return { ...page.page(rows.map(withAuthor), total), can: { create: canCreate(ctx, project) } }
  },
)

const detailOf = async (ctx: Ctx, decision: Decision): Promise<DecisionDetail> => ({
  ...decision,
  discussion: await commentsOn(ctx, decision.id),
  links: await linkedWith(ctx, decision),
  can: await can(ctx, decision),
})

export const get = read(
  'decisions.get',
  member('decisions:read'),
  async (ctx, { ref }: { ref: string }): Promise<DecisionDetail> => detailOf(ctx, await find(ctx, ref)),
)

export const create = write(
  'decisions.create',
  changing,
  async (ctx, input: DecisionCreate & { id?: string }): Promise<DecisionLogged> => {
    const project = await projectOf(ctx, input.projectId)
    const place = {
      organizationId: project?.organizationId ?? currentOrganization(ctx.actor),
      projectId: project?.id ?? null,
    }
    if (project) requireOpenProject(ctx, project, 'Logging a decision')
    else requireRole(ctx.actor, place.organizationId, 'member', 'Logging a decision')
    const id = input.id ?? newId()
    const status = input.status ?? 'accepted'
    const old =
      input.supersedes === undefined ? undefined : await replaceable(ctx, input.supersedes, place.organizationId)
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
      status,
      tags: input.tags ?? [],
      supersedes: old?.id,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    const decision = await find(ctx, id)
    ctx.emit(decisionLogged, about(decision))
    if (status === 'proposed') await tellOfProposal(ctx, decision)
    if (old && status === 'accepted') await supersede(ctx, old, id)
    return { ...decision, similar: await similarTo(ctx, decision) }
  },
)

const options = (given: readonly (string | Alternative)[]): Alternative[] =>
  given.map((a) => (typeof a === 'string' ? { option: a } : a))

export const update = write(
  'decisions.update',
  changing,
  async (ctx, { ref, ...patch }: DecisionPatch & { ref: string }): Promise<Decision> => {
    const before = await find(ctx, ref)
    await projects.requireWriter(ctx, before, 'Changing this decision')
    checkVersion(ctx, before)
    if (before.supersededById && patch.status)
      throw new AppError('conflict', `This decision is superseded by ${before.supersededById}, so its status is final.`)
    const { alternatives, title, ...plain } = patch
    await changeVersioned(ctx, decisions, {
      columns: { id: decisions.id, version: decisions.version },
      before: { id: before.id, version: before.version },
      set: {
        ...plain,
        ...(title !== undefined && { title: title.trim() }),
        ...(alternatives && { alternatives: options(alternatives) }),
      },
      what: 'this decision',
      again: () => find(ctx, before.id),
    })
    const after = await find(ctx, before.id)
    ctx.emit(
      decisionUpdated,
      about(after, {
        fields: Object.keys(patch),
        ...(patch.status && { from: before.status }),
      }),
    )
    if (before.status === 'proposed' && after.status !== 'proposed')
      await settle(ctx, { id: after.id, reasons: ['decision'] })
    // A proposal supersedes the earlier decision only when it is accepted.
    if (after.supersedes && after.status === 'accepted' && before.status !== 'accepted')
      await supersedeByAccepted(ctx, after, after.supersedes)
    return after
  },
  { versioned: true },
)

interface Addition {
  ref: string
  body?: string
  outcome?: string
}

/** Adds a comment, an outcome or both to a decision, and returns it. */
export const add = write(
  'decisions.add',
  changing,
  async (ctx, { ref, body, outcome }: Addition): Promise<DecisionDetail> => {
    if (body !== undefined) await comment(ctx, { ref, body })
    if (outcome !== undefined) await update(ctx, { ref, outcome })
    return detailOf(ctx, await find(ctx, ref))
  },
)

interface Added {
  id: string
  added: string[]
}

/** For the tool `log_decision`: creates a decision, or adds to the one that `ref` names. */
export const log = write(
  'decisions.log',
  changing,
  async (ctx, input: DecisionCreate | Addition): Promise<DecisionLogged | Added> => {
    if (!('ref' in input)) return create(ctx, input)
    const { id } = await add(ctx, input)
    const { body, outcome } = input
    return { id, added: [...(body === undefined ? [] : ['comment']), ...(outcome === undefined ? [] : ['outcome'])] }
  },
)
