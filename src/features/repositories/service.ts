import { eq, isNull } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { includePermissions, member, permissionOf, ruleRefusal, wholeTeam } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { newId } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import type { RepositoryName } from '../../outside/codehosts/host-address.ts'
import type { CodeHost } from '../../outside/codehosts/schema.ts'
import { keyset } from '../../records/page.ts'
import { type ProjectFilter, projectFilterWithProject, projectOf } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import { repositoryConnected, repositoryRemoved, repositorySynced } from './events.ts'
import { listHostedRepositories, openRemote, parseReference } from './remote.ts'
import {
  changeRepository,
  findRepository,
  findWritableRepository,
  type Row,
  repositoryEvent,
  repositoryItemColumns,
  repositoryRowColumns,
  toRepository,
  visibleTo,
} from './rows.ts'
import type {
  HostedPage,
  HostedQuery,
  Repository,
  RepositoryDetail,
  RepositoryItem,
  RepositoryPage,
  RepositoryQuery,
} from './schema.ts'
import { isUnreachable, readyColumns, type Snapshot, snapshotOf } from './snapshot.ts'
import { repositories } from './table.ts'

const repositoryWriteRule = member('repos:write')
/** The person's account at the code host can reach more than the projects that a credential is limited to. */
const repositoryConnectRule = wholeTeam(repositoryWriteRule)
const orders = { updatedAt: repositories.updatedAt, createdAt: repositories.createdAt, name: repositories.name }

/** Lists a project's repositories; without a project, those of the current team. */
export const list = read(
  'repositories.list',
  member('repos:read'),
  async (ctx, query: RepositoryQuery & ProjectFilter): Promise<RepositoryPage> => {
    const page = keyset(orders, repositories.id, query, { sort: 'updatedAt' })
    const { id: projectId, project } = await projectFilterWithProject(ctx, query)
    const filters = and(
      visibleTo(rightsOf(ctx.actor)),
      projectId
        ? eq(repositories.projectId, projectId)
        : eq(repositories.organizationId, currentOrganization(ctx.actor)),
      query.status && eq(repositories.status, query.status),
    )
    const rows: RepositoryItem[] = await ctx.db
      .select(repositoryItemColumns)
      .from(repositories)
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const place = {
      organizationId: project?.organizationId ?? currentOrganization(ctx.actor),
      projectId: project?.id ?? null,
    }
    const connect =
      ruleRefusal(ctx.actor, repositoryConnectRule, 'repositories.connect', ctx.app.clock) ??
      (await projects.writerRefusal(ctx, place, 'Connecting a repository'))
    return {
      ...page.page(rows, query.total ? await ctx.db.$count(repositories, filters) : undefined),
      ...includePermissions(ctx.actor, () => ({ connect: permissionOf(connect) })),
    }
  },
)

export const get = read(
  'repositories.get',
  member('repos:read'),
  async (ctx, { ref }: { ref: string }): Promise<RepositoryDetail> => {
    const found = toRepository(await findRepository(ctx, ref))
    const writing = await projects.writerRefusal(ctx, found, 'Changing this repository')
    const permission = (action: 'sync' | 'remove') =>
      permissionOf(ruleRefusal(ctx.actor, repositoryWriteRule, `repositories.${action}`, ctx.app.clock) ?? writing)
    return {
      ...found,
      ...includePermissions(ctx.actor, () => ({ sync: permission('sync'), remove: permission('remove') })),
    }
  },
)

/** Lists what the caller could connect: the repositories that their token gives access to. */
export const listHosted = read(
  'repositories.listHosted',
  wholeTeam(member('repos:read')),
  async (ctx, { provider = ctx.app.config.CODEHOST_PROVIDER }: HostedQuery): Promise<HostedPage> => ({
    items: await listHostedRepositories(ctx, provider),
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
  repositoryConnectRule,
  async (ctx, { repo, provider, project: ref }: Connect): Promise<Repository> => {
    const project = await projectOf(ctx, ref)
    const place = {
      organizationId: project?.organizationId ?? currentOrganization(ctx.actor),
      projectId: project?.id ?? null,
    }
    await projects.requireWriter(ctx, place, 'Connecting a repository')
    const named = await parseReference(ctx, repo, provider)
    const { remote } = await openRemote(ctx, named)
    let seen: Snapshot | undefined
    let away: AppError | undefined
    try {
      seen = await snapshotOf(remote)
    } catch (error) {
      if (!(error instanceof AppError) || !isUnreachable(error)) throw error
      away = error
    }
    return storeRepository(ctx, { ...place, named, seen, error: away?.message })
  },
  { idempotent: true, outside: true },
)

interface StoreRepository {
  organizationId: string
  projectId: string | null
  named: RepositoryName
  seen?: Snapshot
  error?: string
}

/** Stores one row per repository and project, even if several people connect it. */
const storeRepository = write(
  'repositories.keep',
  repositoryWriteRule,
  async (ctx, input: StoreRepository): Promise<Repository> => {
    const { organizationId, projectId, named, seen, error } = input
    // The project may have been deleted during the request to the host.
    if (projectId) await projects.findProject(ctx, projectId)
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
        ...(seen && readyColumns(ctx, seen)),
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .onConflictDoNothing()
      .returning(repositoryRowColumns)
    if (made) {
      ctx.emit(repositoryConnected, repositoryEvent(made))
      return toRepository(made)
    }
    const known = await lockConnected(ctx, input, key)
    return toRepository(seen ? await changeRepository(ctx, known, readyColumns(ctx, seen), repositorySynced) : known)
  },
)

/** Finds the existing row and locks it until the end of the write. */
async function lockConnected(ctx: Ctx, { organizationId, projectId }: StoreRepository, key: string): Promise<Row> {
  const inPlace = projectId
    ? eq(repositories.projectId, projectId)
    : and(isNull(repositories.projectId), eq(repositories.organizationId, organizationId))
  const [known] = await ctx.db
    .select(repositoryRowColumns)
    .from(repositories)
    .where(and(isNull(repositories.deletedAt), eq(repositories.key, key), inPlace))
    .for('update')
  if (!known) throw new AppError('conflict', 'The repository was removed while you connected it. Try again.')
  return known
}

/** Removes the repository from Tutti only; its host keeps it. */
export const remove = write(
  'repositories.remove',
  repositoryWriteRule,
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const before = await findWritableRepository(ctx, ref, 'Removing this repository')
    checkVersion(ctx, toRepository(before))
    await changeRepository(ctx, before, { deletedAt: ctx.now }, repositoryRemoved)
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)
