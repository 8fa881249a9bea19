import { eq, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { hostAddress, type RepositoryName } from '../../outside/codehosts/host-address.ts'
import { findByReference, idStartsWith, updateVersioned } from '../../records/rows.ts'
import * as projects from '../projects/rows.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import type { repositoryFailed, repositoryRemoved, repositorySynced } from './events.ts'
import type { Repository } from './schema.ts'
import { repositories } from './table.ts'

/** Columns of list items: without branches. */
export const repositoryItemColumns = {
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
const repositoryColumns = {
  ...repositoryItemColumns,
  branches: repositories.branches,
  lastCommit: repositories.lastCommit,
  pullRequests: repositories.pulls,
}
/** Columns for the actions, including the host, which responses leave out: the repository's address begins with it. */
export const repositoryRowColumns = { ...repositoryColumns, host: repositories.host }
export type Row = Repository & { host: string }
export const toRepository = ({ host: _, ...repository }: Row): Repository => repository

export const visibleTo = liveOfTeamOrProject(repositories)

/** Finds a repository by id, address, owner/name or the unique beginning of an id. */
export async function findRepository(ctx: Ctx, ref: string): Promise<Row> {
  const select = (match: SQL | undefined) =>
    ctx.db
      .select(repositoryRowColumns)
      .from(repositories)
      .where(and(match, visibleTo(rightsOf(ctx.actor))))
      .orderBy(repositories.createdAt, repositories.id)
      .limit(2)
  const here = () => eq(repositories.organizationId, currentOrganization(ctx.actor))
  const found = await findByReference<Row>(ref, {
    id: (id) => select(eq(repositories.id, id)),
    name: (text) => {
      const wanted = text.toLowerCase().replace(/(\.git)?\/*$/, '')
      const named = sql`lower(${repositories.owner} || '/' || ${repositories.name}) = ${wanted}`
      return select(and(here(), or(eq(repositories.key, wanted), named)))
    },
    prefix: (prefix) => select(and(here(), idStartsWith(repositories.id, prefix))),
  })
  if (!found) throw notFound('repo', ref)
  return found
}

/** Returns the reference by which a code host finds the repository. */
export const remoteReference = (
  { app }: Ctx,
  { provider, host, owner, name }: Pick<Row, 'provider' | 'host' | 'owner' | 'name'>,
): RepositoryName => ({
  place: hostAddress(app.config, { provider, base: host }),
  owner,
  name,
})

/** Finds a repository that the caller may change. `what` names the change in the refusal. */
export async function findWritableRepository(ctx: Ctx, ref: string, what: string): Promise<Row> {
  const found = await findRepository(ctx, ref)
  await projects.requireWriter(ctx, found, what)
  return found
}

/** Writes a change and, if given, emits its event. */
export const changeRepository = async (
  ctx: Ctx,
  before: Row,
  set: Partial<typeof repositories.$inferInsert>,
  event?: typeof repositorySynced | typeof repositoryFailed | typeof repositoryRemoved,
): Promise<Row> => {
  const again = async () => toRepository(await findRepository(ctx, before.id))
  const after = await updateVersioned<typeof repositories, Row>(ctx, repositories, {
    columns: repositoryRowColumns,
    before,
    set,
    what: 'this repository',
    again,
  })
  if (event) ctx.emit(event, repositoryEvent(after))
  return after
}

export const repositoryEvent = (row: Row) => ({
  subjectId: row.id,
  organizationId: row.organizationId,
  projectId: row.projectId,
  data: { name: `${row.owner}/${row.name}`, url: row.url, status: row.status, version: row.version },
})
