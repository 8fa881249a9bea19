import { and, count, eq, gt, gte, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { anyOf, newId } from '../../db/columns.ts'
import { keyset } from '../../db/page.ts'
import { byReference, changeVersioned, idStarts } from '../../db/records.ts'
import { invalid, notFound } from '../../errors.ts'
import { findAgent, speaker } from '../agents/parties.ts'
import { agents } from '../agents/table.ts'
import { projectOf } from '../projects/current.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import { embedQuery, type Hit, hybrid } from '../search/hybrid.ts'
import { dropPassages, putPassages } from '../search/passages.ts'
import { passages, passageVectors } from '../search/table.ts'
import { sessions } from '../sessions/table.ts'
import {
  CONTENT_BYTES,
  type Memory,
  type MemoryClear,
  type MemoryCleared,
  type MemoryCreate,
  type MemoryHit,
  type MemoryHits,
  type MemoryItem,
  type MemoryPage,
  type MemoryPatch,
  type MemoryQuery,
  type MemorySearch,
  type MemoryStored,
} from './schema.ts'
import { memories } from './table.ts'

const embeddingModel = sql<string | null>`(select min(v.model) from ${passages} p join ${passageVectors} v on v.passage_id = p.id
  where p.kind = 'memory' and p.record_id = ${memories.id} and p.chunk = 0)`
const columns = {
  id: memories.id,
  createdAt: memories.createdAt,
  updatedAt: memories.updatedAt,
  version: memories.version,
  organizationId: memories.organizationId,
  projectId: memories.projectId,
  scope: memories.scope,
  scopeId: memories.scopeId,
  authorType: memories.authorType,
  authorId: memories.authorId,
  authorName: memories.authorName,
  title: memories.title,
  content: memories.content,
  tags: memories.tags,
  source: memories.source,
  importance: memories.importance,
  expiresAt: memories.expiresAt,
  supersedes: memories.supersedes,
  supersededById: memories.supersededById,
  embeddingModel,
}
type Row = Omit<Memory, 'author'> & { authorType: 'user' | 'agent'; authorId: string | null; authorName: string }
const toMemory = ({ authorType: type, authorId: id, authorName: name, ...rest }: Row): Memory => ({ ...rest, author: { type, id, name } })
const excerptOf = (content: string): string => (content.length > 160 ? `${content.slice(0, 159)}…` : content)
const toItem = ({ content, ...rest }: Memory): MemoryItem => ({ ...rest, excerpt: excerptOf(content) })

const live = isNull(memories.deletedAt)
const visibleTo = (rights: Rights): SQL => {
  const ofTeam = and(isNull(memories.projectId), anyOf(memories.organizationId, rights.organizations))
  const inProject = sql`exists (select 1 from ${projectTable} where ${projectTable.id} = ${memories.projectId} and ${projects.visibleTo(rights)})`
  return and(live, anyOf(memories.organizationId, rights.reach), or(ofTeam, inProject)) as SQL
}
const current = (now: string): SQL =>
  and(isNull(memories.supersededById), or(isNull(memories.expiresAt), gt(memories.expiresAt, now))) as SQL

const select = (ctx: Ctx, where: SQL | undefined) =>
  ctx.db
    .select(columns)
    .from(memories)
    .where(and(where, visibleTo(rightsOf(ctx.actor))))
    .$dynamic()

async function find(ctx: Ctx, ref: string): Promise<Memory> {
  const found = await byReference<Row>(ref, {
    id: (id) => select(ctx, eq(memories.id, id)),
    name: async () => [],
    prefix: (prefix) => select(ctx, idStarts(memories.id, prefix)).limit(2),
  })
  if (!found) throw notFound('memory', ref)
  return toMemory(found)
}

/** What a memory is about, and where that lives. */
interface Place {
  scope: Memory['scope']
  scopeId: string
  organizationId: string
  projectId: string | null
}

async function placeOf(ctx: Ctx, scope: Memory['scope'] | undefined, ref: string | undefined): Promise<Place> {
  const project = scope === undefined || scope === 'project' ? await projectOf(ctx, ref) : undefined
  const chosen = scope ?? (project || !ctx.actor.agent ? 'project' : 'agent')
  if (chosen === 'project') {
    if (!project)
      throw invalid('/scopeId', 'Say which project it is about: give scopeId its id, slug or key (list_projects shows them).', 'required')
    return { scope: chosen, scopeId: project.id, organizationId: project.organizationId, projectId: project.id }
  }
  const organizationId = currentOrganization(ctx.actor)
  if (chosen === 'agent') {
    const agent = ref ? await findAgent(ctx, organizationId, ref) : ctx.actor.agent
    if (!agent) throw invalid('/scopeId', 'Say which agent it is about: give scopeId its id or slug (list_agents shows them).', 'required')
    return { scope: chosen, scopeId: agent.id, organizationId, projectId: null }
  }
  if (!ref) throw invalid('/scopeId', 'Say which session it is about: give scopeId its id (list_sessions shows them).', 'required')
  const session = await sessionPlace(ctx, ref)
  return { scope: chosen, scopeId: session.id, organizationId: session.organizationId, projectId: session.projectId }
}

/** A session is its worker's; its project decides who sees what is remembered about it. */
async function sessionPlace(ctx: Ctx, ref: string): Promise<{ id: string; organizationId: string; projectId: string | null }> {
  const columns = { id: sessions.id, organizationId: sessions.organizationId, projectId: sessions.projectId }
  const mine = and(eq(sessions.organizationId, currentOrganization(ctx.actor)), eq(sessions.userId, userIdOf(ctx.actor)))
  const pick = (match: SQL) => ctx.db.select(columns).from(sessions).where(and(match, mine)).limit(2)
  const found = await byReference(ref, {
    id: (id) => pick(eq(sessions.id, id)),
    name: async () => [],
    prefix: (prefix) => pick(idStarts(sessions.id, prefix)),
  })
  if (!found) throw notFound('session', ref)
  return found
}

const requireWriter = (ctx: Ctx, place: Pick<Place, 'organizationId' | 'projectId'>): Promise<void> =>
  projects.requireWriter(ctx, place, 'Remembering here')

// ---- reading

export const list = read('memory.list', member('memories:read'), async (ctx, query: MemoryQuery): Promise<MemoryPage> => {
  const sort = { updatedAt: memories.updatedAt, createdAt: memories.createdAt, importance: memories.importance }
  const page = keyset(sort, memories.id, query, { sort: 'updatedAt' })
  const filters = and(
    query.projectId ? eq(memories.projectId, query.projectId) : eq(memories.organizationId, currentOrganization(ctx.actor)),
    query.scope && eq(memories.scope, query.scope),
    query.scopeId === undefined ? undefined : eq(memories.scopeId, query.scopeId),
    query.tag === undefined ? undefined : sql`${memories.tags} @> array[${query.tag}]::text[]`,
    query.since === undefined ? undefined : gte(memories.updatedAt, query.since),
    query.until === undefined ? undefined : lt(memories.updatedAt, query.until),
    query.old ? undefined : current(ctx.now),
  )
  const rows = await select(ctx, page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const total = query.total
    ? (
        await ctx.db
          .select({ n: count() })
          .from(memories)
          .where(and(filters, visibleTo(rightsOf(ctx.actor))))
      )[0]?.n
    : undefined
  return page.page(
    rows.map((row) => toItem(toMemory(row))),
    total,
  )
})

export const get = read('memory.get', member('memories:read'), (ctx, { ref }: { ref: string }): Promise<Memory> => find(ctx, ref))

export const search = read('memory.search', member('memories:read'), async (ctx, input: MemorySearch): Promise<MemoryHits> => {
  const place = input.scope || input.scopeId ? await placeOf(ctx, input.scope, input.scopeId) : undefined
  const vector = await embedQuery(ctx, input.query)
  const kinds = input.kinds ?? (['memory'] as const)
  const hits = await hybrid(
    ctx,
    {
      text: input.query,
      kinds,
      tags: input.tags,
      old: input.old,
      limit: input.limit ?? 10,
      ...(place && { scope: place.scope, scopeId: place.scopeId }),
    },
    vector,
  )
  const items = await Promise.all(hits.map((hit) => toHit(ctx, hit)))
  const mode = vector ? ('hybrid' as const) : ('words' as const)
  if (!input.budgetTokens) return { items, mode }
  const kept = withinBudget(items, input.budgetTokens)
  return { items: kept, mode, ...(kept.length < items.length && { truncated: true }) }
})

/** About four characters a token. */
export function withinBudget<T>(items: readonly T[], tokens: number): T[] {
  let left = tokens * 4
  return items.filter((item) => {
    left -= JSON.stringify(item).length
    return left >= 0
  })
}

async function toHit(ctx: Ctx, hit: Hit): Promise<MemoryHit> {
  return {
    kind: hit.kind,
    id: hit.recordId,
    title: hit.title || null,
    content: hit.content,
    tags: hit.tags,
    score: Math.round(hit.score * 1000) / 1000,
    meaning: hit.meaning === null ? null : Math.round(hit.meaning * 1000) / 1000,
    at: hit.at,
    age: ageOf(hit.at, ctx.now),
    origin: await originOf(ctx, hit),
    projectId: hit.projectId,
  }
}

async function originOf(ctx: Ctx, { kind, recordId, scope, scopeId, projectId }: Hit): Promise<string> {
  const [project] = projectId
    ? await ctx.db.select({ slug: projectTable.slug }).from(projectTable).where(eq(projectTable.id, projectId))
    : []
  const [agent] = scope === 'agent' && scopeId ? await ctx.db.select({ name: agents.name }).from(agents).where(eq(agents.id, scopeId)) : []
  const [author] =
    kind === 'memory' ? await ctx.db.select({ name: memories.authorName }).from(memories).where(eq(memories.id, recordId)) : []
  return [agent ? `agent ${agent.name}` : undefined, project ? `project ${project.slug}` : undefined, author && `by ${author.name}`]
    .filter(Boolean)
    .join(', ')
}

export function ageOf(at: string, now: string): string {
  const minutes = Math.max(0, Math.floor((Date.parse(now) - Date.parse(at)) / 60_000))
  const say = (n: number, unit: string) => `${n} ${unit}${n === 1 ? '' : 's'}`
  if (minutes < 60) return say(minutes, 'minute')
  return minutes < 2880 ? say(Math.floor(minutes / 60), 'hour') : say(Math.floor(minutes / 1440), 'day')
}

// ---- writing

export const put = write(
  'memory.put',
  member('memories:write'),
  async (ctx, { vector, ...input }: MemoryCreate & { vector?: Float32Array }): Promise<Memory> => {
    checkContent(input.content)
    const place = await placeOf(ctx, input.scope, input.scopeId)
    await requireWriter(ctx, place)
    const id = newId()
    const author = speaker(ctx)
    if (input.supersedes) await supersede(ctx, input.supersedes, id, place)
    await ctx.db.insert(memories).values({
      id,
      ...place,
      createdById: ctx.actor.userId,
      authorType: author.type,
      authorId: author.id,
      authorName: author.name,
      title: input.title,
      content: input.content,
      tags: input.tags ?? [],
      source: input.source,
      importance: input.importance ?? 0.5,
      expiresAt: input.expiresAt,
      supersedes: input.supersedes,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    const memory = await find(ctx, id)
    await index(ctx, memory, vector)
    announce(ctx, 'memory.stored', memory)
    return memory
  },
)

/** The text can be found at once; its vector is made by a job, unless the client brings one: a write never waits for the model. */
async function index(ctx: Ctx, memory: Memory, vector?: Float32Array): Promise<void> {
  const ids = await putPassages(ctx, 'memory', [
    {
      kind: 'memory',
      recordId: memory.id,
      organizationId: memory.organizationId,
      userId: null,
      projectId: memory.projectId,
      scope: memory.scope,
      scopeId: memory.scopeId,
      title: memory.title ?? '',
      text: memory.content,
      tags: memory.tags,
      importance: memory.importance,
      at: memory.updatedAt,
      expiresAt: memory.supersededById ? memory.updatedAt : memory.expiresAt,
    },
  ])
  if (vector && ids[0]) await ctx.db.insert(passageVectors).values({ passageId: ids[0], model: ctx.app.embedder.id, vector })
  if (ids.length > (vector ? 1 : 0)) ctx.enqueue({ name: 'search.embed', data: {}, key: 'all' })
}

async function supersede(ctx: Ctx, ref: string, by: string, place: Place): Promise<void> {
  const old = await find(ctx, ref)
  if (old.organizationId !== place.organizationId) throw notFound('memory', ref)
  await requireWriter(ctx, old)
  await ctx.db
    .update(memories)
    .set({ supersededById: by, updatedAt: ctx.now, version: sql`${memories.version} + 1` })
    .where(eq(memories.id, old.id))
  await ctx.db
    .update(passages)
    .set({ expiresAt: ctx.now })
    .where(and(eq(passages.kind, 'memory'), eq(passages.recordId, old.id)))
}

/** Says which memories say nearly the same, by the vectors that are there already; a duplicate is noticed, not refused. */
export const store = flow('memory.store', member('memories:write'), async (ctx, input: MemoryCreate, keyed): Promise<MemoryStored> => {
  const vector = input.embedding && checkVector(ctx, input.embedding)
  const memory = await put(keyed, { ...input, embedding: undefined, vector })
  return { ...memory, similar: await similarTo(ctx, memory, vector) }
})

const NEARLY_SAME = 0.85

async function similarTo(ctx: Ctx, memory: Memory, given: Float32Array | undefined): Promise<MemoryStored['similar']> {
  const vector = given ?? (await embedQuery(ctx, memory.content))
  const hits = await hybrid(
    ctx,
    { text: memory.content.slice(0, 500), kinds: ['memory'], scope: memory.scope, scopeId: memory.scopeId, limit: 5 },
    vector,
  )
  return hits
    .filter((h) => h.recordId !== memory.id && ((h.meaning ?? 0) >= NEARLY_SAME || (h.meaning === null && h.words > 0.9)))
    .map((h) => ({
      id: h.recordId,
      title: h.title || null,
      excerpt: excerptOf(h.content),
      similarity: Math.round((h.meaning ?? h.words) * 100) / 100,
    }))
}

function checkVector({ app }: Ctx, given: readonly number[]): Float32Array {
  const { dimensions, id } = app.embedder
  if (given.length !== dimensions) throw invalid('/embedding', `embedding needs ${dimensions} numbers, as ${id} makes them.`)
  const length = Math.hypot(...given)
  if (!Number.isFinite(length) || length === 0) throw invalid('/embedding', 'embedding must not be all zeros.')
  return Float32Array.from(given, (value) => value / length)
}

export const update = write(
  'memory.update',
  member('memories:write'),
  async (ctx, { ref, ...patch }: MemoryPatch & { ref: string }): Promise<Memory> => {
    const before = await find(ctx, ref)
    await requireWriter(ctx, before)
    checkVersion(ctx, before)
    if (patch.content !== undefined) checkContent(patch.content)
    await changeVersioned(ctx, memories, {
      columns: { id: memories.id, version: memories.version },
      before: { id: before.id, version: before.version },
      set: patch,
      what: 'this memory',
      again: () => find(ctx, before.id),
    })
    const after = await find(ctx, before.id)
    await index(ctx, after)
    announce(ctx, 'memory.updated', after, { fields: Object.keys(patch) })
    return after
  },
  { versioned: true },
)

export const remove = write(
  'memory.remove',
  member('memories:write'),
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const before = await find(ctx, ref)
    await requireWriter(ctx, before)
    checkVersion(ctx, before)
    await ctx.db
      .update(memories)
      .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${memories.version} + 1` })
      .where(eq(memories.id, before.id))
    await dropPassages(ctx, 'memory', [before.id])
    announce(ctx, 'memory.deleted', before)
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

/** All memories of a scope, once the caller has said how many he knows there are. */
export const clear = write(
  'memory.clear',
  member('memories:write'),
  async (ctx, { scope, scopeId, confirm }: MemoryClear): Promise<MemoryCleared> => {
    const place = await placeOf(ctx, scope, scopeId)
    await requireWriter(ctx, place)
    const own = and(
      eq(memories.scope, place.scope),
      eq(memories.scopeId, place.scopeId),
      eq(memories.organizationId, place.organizationId),
      live,
    )
    const there = await ctx.db.$count(memories, own)
    if (confirm === undefined || confirm !== there) return { count: there, removed: false }
    const gone = await ctx.db
      .update(memories)
      .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${memories.version} + 1` })
      .where(own)
      .returning({ id: memories.id })
    await dropPassages(
      ctx,
      'memory',
      gone.map((m) => m.id),
    )
    ctx.emit('memory.cleared', {
      subjectId: place.scopeId,
      organizationId: place.organizationId,
      projectId: place.projectId,
      data: { scope, count: there },
    })
    return { count: there, removed: true }
  },
  { destructive: true },
)

function checkContent(content: string): void {
  if (Buffer.byteLength(content) > CONTENT_BYTES)
    throw invalid('/content', 'content is larger than 32 KiB. Write a note for long texts, and a memory that points at it.', 'too_long')
}

function announce(ctx: Ctx, type: string, memory: Memory, data: Record<string, unknown> = {}): void {
  ctx.emit(type, {
    subjectId: memory.id,
    organizationId: memory.organizationId,
    projectId: memory.projectId,
    data: { title: memory.title, scope: memory.scope, scopeId: memory.scopeId, version: memory.version, ...data },
  })
}
