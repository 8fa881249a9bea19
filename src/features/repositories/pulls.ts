import { and, eq, isNotNull } from 'drizzle-orm'
import { type Ctx, flow, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import type { RemoteRepository } from '../../outside/codehosts/host.ts'
import type { Pull } from '../../outside/codehosts/schema.ts'
import { organizations } from '../organizations/table.ts'
import * as projects from '../projects/rows.ts'
import { findIn as findFeature } from '../workflow/reading.ts'
import { pullRequestFound, pullRequestOpened } from './events.ts'
import { openRemote } from './remote.ts'
import { findWritableRepository, type Row, remoteReference } from './rows.ts'
import type { PullCreate, PullOpened, PullRequest } from './schema.ts'
import { pullRequests } from './table.ts'

const pullRequestColumns = {
  id: pullRequests.id,
  repositoryId: pullRequests.repositoryId,
  featureId: pullRequests.featureId,
  number: pullRequests.number,
  url: pullRequests.url,
  title: pullRequests.title,
  head: pullRequests.head,
  base: pullRequests.base,
  createdAt: pullRequests.createdAt,
}

interface OpenPullRequest extends Omit<PullCreate, 'featureId'> {
  ref: string
  feature?: string
}

export const create = flow(
  'repositories.createPull',
  member('repos:write'),
  async (ctx, { ref, feature, ...input }: OpenPullRequest): Promise<PullOpened> => {
    const repository = await findWritableRepository(ctx, ref, 'Opening a pull request')
    const featureId = feature === undefined ? null : await featureIn(ctx, repository, feature)
    return openPullRequest(ctx, repository, await openRemoteToWrite(ctx, repository), { ...input, featureId })
  },
  { outside: true },
)

async function featureIn(ctx: Ctx, repository: Row, ref: string): Promise<string> {
  const { row, project } = await findFeature(ctx, ref)
  if (project.organizationId !== repository.organizationId) throw notFound('feature', ref)
  await projects.requireWriter(ctx, row, 'Linking a pull request to this feature')
  return row.id
}

/** Refuses test tokens: changes at a code host are real. */
export async function openRemoteToWrite(ctx: Ctx, repository: Row): Promise<RemoteRepository> {
  const [sandbox] = await ctx.db
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(eq(organizations.id, repository.organizationId), isNotNull(organizations.sandboxOf)))
  if (sandbox) throw new AppError('forbidden', 'A test token cannot change anything at a code host. Use a live token.')
  return (await openRemote(ctx, remoteReference(ctx, repository), true)).remote
}

type Wanted = Omit<OpenPullRequest, 'ref' | 'feature'> & { featureId: string | null }

export async function openPullRequest(
  ctx: Ctx,
  repository: Row,
  remote: RemoteRepository,
  wanted: Wanted,
): Promise<PullOpened> {
  const { title, head, description = '', reviewers = [], featureId } = wanted
  const base = wanted.base ?? repository.defaultBranch ?? (await remote.facts()).defaultBranch
  if (!base) throw invalid('/base', 'The repository is empty. Push a first branch before you open pull requests.')
  if (head === base) throw invalid('/head', `head and base are both ${base}. Push your work to a branch of its own.`)
  const { pull, existed } = await remote.open({ title: title.trim(), head, base, description })
  let warning: string | null = null
  if (reviewers.length > 0)
    await remote.askReviewers(pull.number, reviewers).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error
      warning = `The pull request is open, but requesting its reviewers failed: ${error.message}`.slice(0, 500)
    })
  const kept = await storePullRequest(ctx, { repository, pull, featureId, existed })
  return { ...kept, existed, warning }
}

interface StorePullRequest {
  repository: Row
  pull: Pull
  featureId: string | null
  existed: boolean
}

const storePullRequest = write(
  'repositories.keepPull',
  member('repos:write'),
  async (ctx, { repository, pull, featureId, existed }: StorePullRequest): Promise<PullRequest> => {
    const { author: _, ...facts } = pull
    const linked = featureId ? { featureId } : {}
    const [kept] = await ctx.db
      .insert(pullRequests)
      .values({ ...facts, ...linked, repositoryId: repository.id, createdById: ctx.actor.userId, createdAt: ctx.now })
      .onConflictDoUpdate({
        target: [pullRequests.repositoryId, pullRequests.number],
        set: { title: facts.title, ...linked },
      })
      .returning(pullRequestColumns)
    ctx.emit(existed ? pullRequestFound : pullRequestOpened, {
      subjectId: repository.id,
      organizationId: repository.organizationId,
      projectId: repository.projectId,
      data: { url: facts.url, number: facts.number, title: facts.title, ...linked },
    })
    return kept as PullRequest
  },
)
