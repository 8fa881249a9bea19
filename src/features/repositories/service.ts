import { count, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { newId } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { type Named, placeAt } from '../../outside/codehosts/places.ts'
import type { CodeHost } from '../../outside/codehosts/schema.ts'
import { keyset } from '../../records/page.ts'
import { byReference, changeVersioned, idStarts } from '../../records/rows.ts'
import { projectOf } from '../projects/current.ts'
import * as projects from '../projects/service.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import { repositoryConnected, repositoryFailed, repositoryRemoved, repositorySynced } from './events.ts'
import { hosted, type Reached, reach, reference } from './reach.ts'
import type { HostedPage, HostedQuery, Repository, RepositoryItem, RepositoryPage, RepositoryQuery } from './schema.ts'
import { repositories } from './table.ts'

const item = {
  id: repositories.id,
  createdAt: repositories.createdAt,
  updatedAt: repositories.updatedAt,
  version: repositories.version,
  organizationId: repositories.organizationId,
  projectId: repositories.projectId,
  createdById: repositories.createdById,
  provider: repositories.provider,
  owner: repositories.owner,
  name: repositories.name,
  url: repositories.url,
  private: repositories.private,
  defaultBranch: repositories.defaultBranch,
  commitSha: repositories.commitSha,
  language: repositories.language,
  topics: repositories.topics,
  status: repositories.status,
  syncedAt: repositories.syncedAt,
  error: repositories.error,
}
const columns = {
  ...item,
  branches: repositories.branches,
  lastCommit: repositories.lastCommit,
  pullRequests: repositories.pulls,
  host: repositories.host,
}
/** With the host, which the address of the repository begins with anyway. */
export type Row = Repository & { host: string }
const shown = ({ host: _, ...repository }: Row): Repository => repository

const live = isNull(repositories.deletedAt)
/** The team's own by its members; those of a project by whoever sees the project. */
const visibleTo = liveOfTeamOrProject(repositories)

/** By id, address, owner/name or the unique beginning of an id. */
export async function find(ctx: Ctx, ref: string): Promise<Row> {
  const select = (match: SQL | undefined) =>
    ctx.db
      .select(columns)
      .from(repositories)
      .where(and(match, visibleTo(rightsOf(ctx.actor))))
      .orderBy(repositories.createdAt, repositories.id)
      .limit(2)
  const here = () => eq(repositories.organizationId, currentOrganization(ctx.actor))
  const found = await byReference<Row>(ref, {
    id: (id) => select(eq(repositories.id, id)),
    name: (text) => {
      const wanted = text.toLowerCase().replace(/(\.git)?\/*$/, '')
      const named = sql`lower(${repositories.owner} || '/' || ${repositories.name}) = ${wanted}`
      return select(and(here(), or(eq(repositories.key, wanted), named)))
    },
    prefix: (prefix) => select(and(here(), idStarts(repositories.id, prefix))),
  })
  if (!found) throw notFound('repo', ref)
  return found
}

export const namedBy = (
  { app }: Ctx,
  { provider, host, owner, name }: Pick<Row, 'provider' | 'host' | 'owner' | 'name'>,
): Named => ({
  place: placeAt(app.config, { provider, base: host }),
  owner,
  name,
})

export async function writable(ctx: Ctx, ref: string, what: string): Promise<Row> {
  const found = await find(ctx, ref)
  await projects.requireWriter(ctx, found, what)
  return found
}

// ---- reading

export const list = read(
  'repositories.list',
  member('repos:read'),
  async (ctx, query: RepositoryQuery): Promise<RepositoryPage> => {
    const page = keyset(
      { updatedAt: repositories.updatedAt, createdAt: repositories.createdAt, name: repositories.name },
      repositories.id,
      query,
      {
        sort: 'updatedAt',
      },
    )
    const filters = and(
      visibleTo(rightsOf(ctx.actor)),
      query.projectId
        ? eq(repositories.projectId, query.projectId)
        : eq(repositories.organizationId, currentOrganization(ctx.actor)),
      query.status && eq(repositories.status, query.status),
    )
    const rows: RepositoryItem[] = await ctx.db
      .select(item)
      .from(repositories)
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const counted = query.total ? await ctx.db.select({ n: count() }).from(repositories).where(filters) : undefined
    return page.page(rows, counted?.[0]?.n)
  },
)

/** The same for whoever names a project as people do. */
export const listNamed = read(
  'repositories.listNamed',
  member('repos:read'),
  async (ctx, { project, ...query }: RepositoryQuery & { project?: string }): Promise<RepositoryPage> =>
    list(ctx, { ...query, projectId: (await projectOf(ctx, project))?.id }),
)

export const get = read(
  'repositories.get',
  member('repos:read'),
  async (ctx, { ref }: { ref: string }): Promise<Repository> => shown(await find(ctx, ref)),
)

/** What the caller could connect: those that his token reaches. */
export const listHosted = read(
  'repositories.listHosted',
  member('repos:read'),
  async (ctx, { provider = ctx.app.config.CODEHOST_PROVIDER }: HostedQuery): Promise<HostedPage> => ({
    items: await hosted(ctx, provider),
    nextCursor: null,
  }),
)

// ---- connecting

interface Connect {
  repo: string
  provider?: CodeHost
  project?: string
}

/**
 * Asks the host first, with the caller's token or as a stranger: what he cannot see there he cannot connect. Where the host is away it is
 * connected all the same, and waits for a sync.
 */
export const connect = flow(
  'repositories.connect',
  member('repos:write'),
  async (ctx, { repo, provider, project: ref }: Connect): Promise<Repository> => {
    const project = await projectOf(ctx, ref)
    const place = {
      organizationId: project?.organizationId ?? currentOrganization(ctx.actor),
      projectId: project?.id ?? null,
    }
    await projects.requireWriter(ctx, place, 'Connecting a repository')
    const named = await reference(ctx, repo, provider)
    const { remote } = await reach(ctx, named)
    let seen: Seen | undefined
    let away: AppError | undefined
    try {
      seen = await look(remote)
    } catch (error) {
      if (!(error instanceof AppError) || !isAway(error)) throw error
      away = error
    }
    return keep(ctx, { ...place, named, seen, error: away?.message })
  },
  { idempotent: true, outside: true },
)

export const isAway = ({ code }: AppError): boolean =>
  code === 'upstream_failed' || code === 'upstream_timeout' || code === 'rate_limited'

type Seen = Awaited<ReturnType<typeof look>>

/** All that is kept of a repository, in a handful of calls. */
async function look(remote: Reached['remote']) {
  const facts = await remote.facts()
  const [names, pulls] = await Promise.all([remote.branches(), remote.pulls()])
  const main = facts.defaultBranch
  // An empty repository has a default branch by name only.
  const commit = main && names.length > 0 ? await remote.commit(main) : undefined
  return {
    slug: { owner: facts.owner, name: facts.name },
    set: {
      private: facts.private,
      defaultBranch: main,
      branches: main && names.includes(main) ? [main, ...names.filter((name) => name !== main)] : names,
      commitSha: commit?.sha ?? null,
      lastCommit: commit ?? null,
      language: facts.language,
      topics: facts.topics,
      pulls,
    },
  }
}

const ready = (ctx: Ctx, seen: Seen) => ({ ...seen.set, status: 'ready' as const, syncedAt: ctx.now, error: null })

interface Keep {
  organizationId: string
  projectId: string | null
  named: Named
  seen?: Seen
  error?: string
}

/** The same repository in the same project is one row, whoever connects it and however often. */
const keep = write(
  'repositories.keep',
  member('repos:write'),
  async (ctx, { organizationId, projectId, named, seen, error }: Keep): Promise<Repository> => {
    // It may have been deleted while the host was asked.
    if (projectId) await projects.find(ctx, projectId)
    const { place } = named
    const { owner, name } = seen?.slug ?? named
    const url = `${place.base}/${owner}/${name}`
    const key = url.toLowerCase()
    const id = newId()
    const [made] = await ctx.db
      .insert(repositories)
      .values({
        id,
        organizationId,
        projectId,
        createdById: ctx.actor.userId,
        provider: place.provider,
        host: place.base,
        owner,
        name,
        url,
        key,
        branches: [],
        topics: [],
        pulls: [],
        status: 'pending',
        error: error?.slice(0, 500),
        ...(seen && ready(ctx, seen)),
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .onConflictDoNothing()
      .returning(columns)
    if (made) {
      ctx.emit(repositoryConnected, about(made))
      return shown(made)
    }
    const [known] = await ctx.db
      .select(columns)
      .from(repositories)
      .where(
        and(
          live,
          eq(repositories.key, key),
          projectId
            ? eq(repositories.projectId, projectId)
            : and(isNull(repositories.projectId), eq(repositories.organizationId, organizationId)),
        ),
      )
      .for('update')
    if (!known) throw new AppError('conflict', 'It was connected and removed at the same moment. Try again.')
    return shown(seen ? await change(ctx, known, ready(ctx, seen), repositorySynced) : known)
  },
)

// ---- syncing

/** After this a sync is taken for dead: its server was, in the middle of it. */
const STALE_MS = 60_000

const begin = write(
  'repositories.begin',
  member('repos:write'),
  async (ctx, { ref }: { ref: string }): Promise<{ before: Row; row: Row }> => {
    const before = await writable(ctx, ref, 'Syncing this repository')
    if (before.status === 'syncing' && Date.parse(ctx.now) - Date.parse(before.updatedAt) < STALE_MS)
      throw new AppError('conflict', 'It is being synced right now. Try again in a few seconds.')
    return { before, row: await change(ctx, before, { status: 'syncing' }) }
  },
)

interface Finish {
  row: Row
  seen?: Seen
  error?: string
  /** Nothing was learned about the repository: back to how it was. */
  back?: Row['status']
}

const finish = write(
  'repositories.finish',
  member('repos:write'),
  async (ctx, { row, seen, error, back }: Finish): Promise<Row> => {
    if (seen) return change(ctx, row, ready(ctx, seen), repositorySynced)
    return back
      ? change(ctx, row, { status: back })
      : change(ctx, row, { status: 'error', error: error?.slice(0, 500) }, repositoryFailed)
  },
)

/** What is wrong with the caller's token, or with how often he asks, is not wrong with the repository. */
const isItsFault = ({ code }: AppError, signedIn: boolean): boolean =>
  code === 'upstream_failed' || code === 'upstream_timeout' || code === 'conflict' || (code === 'not_found' && signedIn)

/** With the token of whoever asks, and only when somebody asks: nothing runs behind anybody's back. */
export const sync = flow(
  'repositories.sync',
  member('repos:write'),
  async (ctx, { ref }: { ref: string }): Promise<Repository> => {
    const { before, row } = await begin(ctx, { ref })
    let signedIn = false
    try {
      const reached = await reach(ctx, namedBy(ctx, row))
      signedIn = reached.signedIn
      return shown(await finish(ctx, { row, seen: await look(reached.remote) }))
    } catch (error) {
      const settled = before.status === 'syncing' ? (before.syncedAt ? 'ready' : 'pending') : before.status
      const told = error instanceof AppError && isItsFault(error, signedIn) ? error.message : undefined
      await finish(ctx, told === undefined ? { row, back: settled } : { row, error: told })
      throw error
    }
  },
  { idempotent: true, outside: true },
)

// ---- removing

/** From here only; at its host it stays. */
export const remove = write(
  'repositories.remove',
  member('repos:write'),
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const before = await writable(ctx, ref, 'Removing this repository')
    checkVersion(ctx, shown(before))
    await change(ctx, before, { deletedAt: ctx.now }, repositoryRemoved)
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

const change = async (
  ctx: Ctx,
  before: Row,
  set: Partial<typeof repositories.$inferInsert>,
  event?: typeof repositorySynced,
): Promise<Row> => {
  const again = async () => shown(await find(ctx, before.id))
  const after = await changeVersioned<typeof repositories, Row>(ctx, repositories, {
    columns,
    before,
    set,
    what: 'this repository',
    again,
  })
  if (event) ctx.emit(event, about(after))
  return after
}

const about = (row: Row) => ({
  subjectId: row.id,
  organizationId: row.organizationId,
  projectId: row.projectId,
  data: { name: `${row.owner}/${row.name}`, url: row.url, status: row.status, version: row.version },
})
