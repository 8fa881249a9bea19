import { eq } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { anyone, isAtLeast, member, memberOrAlone, wholeTeam } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { randomTail } from '../../auth/secrets.ts'
import { matches } from '../../db/columns.ts'
import { AppError, invalid } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import type { Scope } from '../../records/scopes.ts'
import { emitMoved } from '../../records/synced-changes.ts'
import { quoteName } from '../../text/quoting.ts'
import { slugify } from '../../text/text.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import {
  findPublicRow,
  findToRestore,
  listShared,
  ownerFor,
  requireWriter,
  scopeConditions,
  teamScopes,
} from '../organizations/sharing.ts'
import * as projects from '../projects/rows.ts'
import type { SkillItem } from '../skills/schema.ts'
import * as skills from '../skills/service.ts'
import { agentCreated, agentDeleted, agentRestored, agentUpdated } from './events.ts'
import { onAgentRemoved, onAgentRestored } from './hooks.ts'
import { findVisibleAgent } from './names.ts'
import { agentColumns, agentItemColumns, findAgentByReference, visibleTo } from './rows.ts'
import {
  type Agent,
  type AgentCreate,
  type AgentDeleted,
  type AgentItem,
  type AgentPage,
  type AgentPatch,
  type AgentQuery,
  PROMPT_BYTES,
  type PublicAgent,
} from './schema.ts'
import { agents } from './table.ts'
import { personOfAgent } from './token-agents.ts'

export const agentWriteRule = wholeTeam(memberOrAlone('agents:write'))

function page(ctx: Ctx, query: AgentQuery, from: readonly Scope[]): Promise<AgentPage> {
  const sort = { updatedAt: agents.updatedAt, createdAt: agents.createdAt, name: agents.name }
  return listShared<AgentItem>(ctx, agents, {
    columns: agentItemColumns,
    visible: visibleTo(rightsOf(ctx.actor)),
    page: keyset(sort, agents.id, query, { sort: 'updatedAt' }),
    parts: scopeConditions(ctx, agents, from),
    filters: [
      query.scope && eq(agents.scope, query.scope),
      query.status === 'all' ? undefined : eq(agents.status, query.status ?? 'active'),
      query.search ? matches(agents.search, query.search) : undefined,
    ],
    total: query.total,
  })
}

/** Lists personal agents and those of the current team. Public agents of others are listed only on request. */
export const list = read(
  'agents.list',
  memberOrAlone('agents:read'),
  (ctx, query: AgentQuery): Promise<AgentPage> => page(ctx, query, query.scope ? [query.scope] : ['personal', 'team']),
)

/**
 * Lists the current team's own agents, including those it made public. With `project`, which the caller must see: the
 * agents of the team that owns it.
 */
export const listFor = read(
  'agents.listFor',
  member('agents:read'),
  async (ctx, { project, ...query }: AgentQuery & { project?: string }): Promise<AgentPage> => {
    if (project === undefined) return page(ctx, query, teamScopes(ctx.actor))
    const { organizationId } = await projects.findProject(ctx, project)
    return page({ ...ctx, actor: { ...ctx.actor, organizationId } }, query, ['team'])
  },
)

export const create = write(
  'agents.create',
  agentWriteRule,
  async (ctx, input: AgentCreate & { id?: string }): Promise<Agent> => {
    checkPrompt(input.systemPrompt)
    const place = ownerFor(ctx, 'agent', input.scope)
    await requireRoomFor(ctx, { ...place, status: 'active' })
    const [agent] = await ctx.db
      .insert(agents)
      .values({
        id: input.id,
        ...place,
        createdById: userIdOf(ctx.actor),
        name: input.name.trim(),
        slug: `${slugify(input.name) || 'agent'}-${randomTail()}`,
        role: input.role,
        persona: input.persona,
        systemPrompt: input.systemPrompt,
        model: input.model,
        provider: input.provider,
        skills: await skillsFor(ctx, place, input.skills ?? []),
        memoryScope: input.memoryScope ?? 'project',
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .returning(agentColumns)
    if (!agent) throw new Error('insert returned nothing')
    ctx.emit(agentCreated, agentEvent(agent))
    return agent
  },
)

export const update = write(
  'agents.update',
  agentWriteRule,
  async (ctx, { ref, ...patch }: AgentPatch & { ref: string }): Promise<Agent> => {
    const before = await findWritableAgent(ctx, ref)
    checkPrompt(patch.systemPrompt)
    const place = patch.scope === undefined ? before : ownerFor(ctx, 'agent', patch.scope, before)
    const { organizationId, scope } = place
    // The caller must be able to write in the new scope too, so that they can undo the change.
    requireWriter(ctx, 'agent', { ...before, organizationId, scope })
    const moved = scope !== before.scope || organizationId !== before.organizationId
    if (organizationId !== before.organizationId || (patch.status === 'active' && before.status !== 'active'))
      await requireRoomFor(ctx, { ...before, ...patch, organizationId })
    const wanted = patch.skills
      ? await skillsFor(ctx, place, patch.skills, moved ? [] : before.skills)
      : moved
        ? requireVisibleSkills(place, await skills.findSkillsByIds(ctx, before.skills))
        : before.skills
    const name = patch.name === undefined ? {} : { name: patch.name.trim() }
    const after = await changeAgent(ctx, before, { ...patch, ...name, skills: wanted, organizationId, scope })
    ctx.emit(agentUpdated, agentEvent(after, { fields: Object.keys(patch) }))
    emitMoved(ctx, 'agent', after.id, agentEvent(before), agentEvent(after))
    return after
  },
  { versioned: true },
)

export const remove = write(
  'agents.remove',
  agentWriteRule,
  async (ctx, { ref, archiveMemory = false }: { ref: string; archiveMemory?: boolean }): Promise<AgentDeleted> => {
    const before = await findWritableAgent(ctx, ref)
    const after = await changeAgent(ctx, before, { deletedAt: ctx.now })
    const removed = await onAgentRemoved.call(ctx, { agent: before, keepMemories: archiveMemory })
    const count = removed.reduce((sum, { memories = 0 }) => sum + memories, 0)
    const memories = { count, kept: archiveMemory }
    ctx.emit(agentDeleted, agentEvent(after, { memories }))
    return { id: before.id, deleted: true, memories }
  },
  { destructive: true, versioned: true },
)

/** Restores an agent with the memories that were deleted with it. */
export const restore = write(
  'agents.restore',
  agentWriteRule,
  async (ctx, { ref }: { ref: string }): Promise<Agent> => {
    const { row: before, deletedAt } = await findToRestore<Agent>(ctx, agents, agentColumns, 'agent', ref, agentDeleted)
    checkVersion(ctx, before)
    if (deletedAt === null) return before
    await requireRoomFor(ctx, before)
    const after = await changeAgent(ctx, before, { deletedAt: null })
    await onAgentRestored.call(ctx, { agent: before, deletedAt })
    ctx.emit(agentRestored, agentEvent(after))
    return after
  },
  { idempotent: true, versioned: true },
)

const publicColumns = {
  name: agents.name,
  slug: agents.slug,
  role: agents.role,
  persona: agents.persona,
  systemPrompt: agents.systemPrompt,
  model: agents.model,
  provider: agents.provider,
  memoryScope: agents.memoryScope,
  skills: agents.skills,
  createdAt: agents.createdAt,
  updatedAt: agents.updatedAt,
}

export const getPublic = read(
  'agents.getPublic',
  anyone,
  async (ctx, { slug }: { slug: string }): Promise<PublicAgent> => {
    const agent = await findPublicRow<Omit<PublicAgent, 'skills' | 'author'> & { skills: string[] }>(
      ctx,
      agents,
      publicColumns,
      'agent',
      slug,
    )
    const open = (await skills.findSkillsByIds(ctx, agent.skills)).filter((skill) => skill.scope === 'public')
    return { ...agent, skills: open.map(({ name, slug }) => ({ name, slug })) }
  },
)

/** Requires room in the plan of the team. Personal and archived agents do not count. */
async function requireRoomFor(
  ctx: Ctx,
  { organizationId, status }: Pick<Agent, 'organizationId' | 'status'>,
): Promise<void> {
  if (organizationId && status === 'active') await requirePlanRoom(ctx, organizationId, 'agents')
}

function checkPrompt(prompt: string | null | undefined): void {
  if (prompt && Buffer.byteLength(prompt) > PROMPT_BYTES)
    throw invalid('/systemPrompt', 'systemPrompt exceeds 64 KiB.', 'too_long')
}

async function findWritableAgent(ctx: Ctx, ref: string): Promise<Agent> {
  // Not by a part of its name: a change or deletion must not hit another one.
  const found = await findVisibleAgent(ctx, ref, 'whole')
  requireWriter(ctx, 'agent', found)
  await requireOwnOrAdmin(ctx, found)
  checkVersion(ctx, found)
  return found
}

/** Only the person or an admin may change the agent of a person's token: deleting it ends its work. */
export async function requireOwnOrAdmin(ctx: Ctx, { id, name, organizationId }: Agent): Promise<void> {
  const role = organizationId && ctx.actor.memberships.get(organizationId)
  if (role && isAtLeast(role, 'admin')) return
  const person = await personOfAgent(ctx, id)
  if (person && person.id !== ctx.actor.userId)
    throw new AppError(
      'forbidden',
      `${quoteName(name)} works for ${quoteName(person.name)}. Only they or an admin can change it.`,
    )
}

type AgentScope = Pick<Agent, 'organizationId' | 'scope'>

/** Finds the wanted skills, which the caller must see. Skills it already has are not checked: one may be deleted. */
async function skillsFor(
  ctx: Ctx,
  place: AgentScope,
  refs: readonly string[],
  has: readonly string[] = [],
): Promise<string[]> {
  const ids: string[] = []
  for (const ref of refs)
    ids.push(...(has.includes(ref) ? [ref] : requireVisibleSkills(place, [await skills.findSkill(ctx, ref)])))
  return [...new Set(ids)]
}

/** Requires that everyone who sees the agent can read its skills. */
function requireVisibleSkills({ organizationId, scope }: AgentScope, wanted: readonly SkillItem[]): string[] {
  const hidden = wanted.find(
    (skill) =>
      scope !== 'personal' &&
      skill.scope !== 'public' &&
      (skill.scope === 'personal' || skill.organizationId !== organizationId),
  )
  if (hidden)
    throw invalid(
      '/skills',
      `${hidden.slug} is not visible to everyone who sees this agent. Share the skill with them first.`,
    )
  return wanted.map((skill) => skill.id)
}

const changeAgent = (ctx: Ctx, before: Agent, set: Partial<typeof agents.$inferInsert>): Promise<Agent> =>
  updateVersioned(ctx, agents, {
    columns: agentColumns,
    before,
    set,
    what: 'this agent',
    again: () => findAgentByReference(ctx, before.id),
  })

const agentEvent = <D extends object>(agent: Agent, data?: D) => ({
  subjectId: agent.id,
  organizationId: agent.organizationId,
  userId: agent.organizationId ? null : agent.createdById,
  data: Object.assign({ name: agent.name, version: agent.version }, data),
})
