import { eq, isNull } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member, offered, ofTeam, permissionOf, refusalOf } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { newId } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import type { Named } from '../../outside/codehosts/host-address.ts'
import type { CodeHost } from '../../outside/codehosts/schema.ts'
import { keyset } from '../../records/page.ts'
import { filteredProject, type ProjectFilter, projectOf } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import { repositoryConnected, repositoryRemoved, repositorySynced } from './events.ts'
import { hosted, openRemote, reference } from './remote.ts'
import { about, change, find, listed, type Row, stored, toRepository, visibleTo, writable } from './rows.ts'
import type {
  HostedPage,
  HostedQuery,
  Repository,
  RepositoryDetail,
  RepositoryItem,
  RepositoryPage,
  RepositoryQuery,
} from './schema.ts'
import { isAway, ready, type Snapshot, snapshotOf } from './snapshot.ts'
import { repositories } from './table.ts'

const changing = member('repos:write')
/** The person's account at the code host can reach more than the projects that a credential is limited to. */
const connecting = ofTeam(changing)
const orders = { updatedAt: repositories.updatedAt, createdAt: repositories.createdAt, name: repositories.name }

/** Lists a project's repositories; without a project, those of the current team. */
export const list = read(
  'repositories.list',
  member('repos:read'),
  async (ctx, query: RepositoryQuery & ProjectFilter): Promise<RepositoryPage> => {
    const page = keyset(orders, repositories.id, query, { sort: 'updatedAt' })
    const { id: projectId, project } = await filteredProject(ctx, query)
    const filters = and(
      visibleTo(rightsOf(ctx.actor)),
      projectId
        ? eq(repositories.projectId, projectId)
        : eq(repositories.organizationId, currentOrganization(ctx.actor)),
      query.status && eq(repositories.status, query.status),
    )
    const rows: RepositoryItem[] = await ctx.db
      .select(listed)
      .from(repositories)
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const place = {
      organizationId: project?.organizationId ?? currentOrganization(ctx.actor),
      projectId: project?.id ?? null,
    }
    const connect =
      refusalOf(ctx.actor, connecting, 'repositories.connect', ctx.app.clock) ??
      (await projects.writerRefusal(ctx, place, 'Connecting a repository'))
    return {
      ...page.page(rows, query.total ? await ctx.db.$count(repositories, filters) : undefined),
      ...offered(ctx.actor, () => ({ connect: permissionOf(connect) })),
    }
  },
)

export const get = read(
  'repositories.get',
  member('repos:read'),
  async (ctx, { ref }: { ref: string }): Promise<RepositoryDetail> => {
    const found = toRepository(await find(ctx, ref))
    const writing = await projects.writerRefusal(ctx, found, 'Changing this repository')
    const permission = (action: 'sync' | 'remove') =>
      permissionOf(refusalOf(ctx.actor, changing, `repositories.${action}`, ctx.app.clock) ?? writing)
    return { ...found, ...offered(ctx.actor, () => ({ sync: permission('sync'), remove: permission('remove') })) }
  },
)

/** Lists what the caller could connect: the repositories that their token gives access to. */
export const listHosted = read(
  'repositories.listHosted',
  ofTeam(member('repos:read')),
  async (ctx, { provider = ctx.app.config.CODEHOST_PROVIDER }: HostedQuery): Promise<HostedPage> => ({
    items: await hosted(ctx, provider),
    nextCursor: null,
  }),
)

interface Connect {
  repo: string
  provider?: CodeHost
  project?: string
}

/**
 * Asks the host first, with the caller's token if there is one: people can only connect repositories that they can see
 * there. If the host is unreachable, the repository gets the status `pending` until a sync succeeds.
 */
export const connect = flow(
  'repositories.connect',
  connecting,
  async (ctx, { repo, provider, project: ref }: Connect): Promise<Repository> => {
    const project = await projectOf(ctx, ref)
    const place = {
      organizationId: project?.organizationId ?? currentOrganization(ctx.actor),
      projectId: project?.id ?? null,
    }
    await projects.requireWriter(ctx, place, 'Connecting a repository')
    const named = await reference(ctx, repo, provider)
    const { remote } = await openRemote(ctx, named)
    let seen: Snapshot | undefined
    let away: AppError | undefined
    try {
      seen = await snapshotOf(remote)
    } catch (error) {
      if (!(error instanceof AppError) || !isAway(error)) throw error
      away = error
    }
    return keep(ctx, { ...place, named, seen, error: away?.message })
  },
  { idempotent: true, outside: true },
)

interface Keep {
  organizationId: string
  projectId: string | null
  named: Named
  seen?: Snapshot
  error?: string
}

/** Stores one row per repository and project, even if several people connect it. */
const keep = write('repositories.keep', changing, async (ctx, input: Keep): Promise<Repository> => {
  const { organizationId, projectId, named, seen, error } = input
  // The project may have been deleted during the request to the host.
  if (projectId) await projects.find(ctx, projectId)
  const { place } = named
  const { owner, name } = seen?.slug ?? named
  const url = `${place.base}/${owner}/${name}`
  const key = url.toLowerCase()
  const [made] = await ctx.db
    .insert(repositories)
    .values({
      id: newId(),
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
    .returning(stored)
  if (made) {
    ctx.emit(repositoryConnected, about(made))
    return toRepository(made)
  }
  const known = await lockConnected(ctx, input, key)
  return toRepository(seen ? await change(ctx, known, ready(ctx, seen), repositorySynced) : known)
})

/** Finds the existing row and locks it until the end of the write. */
async function lockConnected(ctx: Ctx, { organizationId, projectId }: Keep, key: string): Promise<Row> {
  const inPlace = projectId
    ? eq(repositories.projectId, projectId)
    : and(isNull(repositories.projectId), eq(repositories.organizationId, organizationId))
  const [known] = await ctx.db
    .select(stored)
    .from(repositories)
    .where(and(isNull(repositories.deletedAt), eq(repositories.key, key), inPlace))
    .for('update')
  if (!known) throw new AppError('conflict', 'The repository was removed while you connected it. Try again.')
  return known
}

/** Removes the repository from Tutti only; its host keeps it. */
export const remove = write(
  'repositories.remove',
  changing,
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const before = await writable(ctx, ref, 'Removing this repository')
    checkVersion(ctx, toRepository(before))
    await change(ctx, before, { deletedAt: ctx.now }, repositoryRemoved)
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)
