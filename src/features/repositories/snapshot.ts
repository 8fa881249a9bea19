import type { Ctx } from '../../action.ts'
import type { AppError } from '../../errors.ts'
import type { RemoteRepository } from '../../outside/codehosts/host.ts'

export type Snapshot = Awaited<ReturnType<typeof snapshotOf>>

/** Fetches all stored facts of a repository from its code host. */
export async function snapshotOf(remote: RemoteRepository) {
  const facts = await remote.facts()
  const [names, pulls] = await Promise.all([remote.branches(), remote.pulls()])
  const main = facts.defaultBranch
  // An empty repository names a default branch that does not exist.
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

/** The columns of a repository that was just fetched. */
export const readyColumns = (ctx: Ctx, { set }: Snapshot) => ({
  ...set,
  status: 'ready' as const,
  syncedAt: ctx.now,
  error: null,
})

/** Whether the code host cannot be reached for now, so that a later attempt may succeed. */
export const isUnreachable = ({ code }: AppError): boolean =>
  code === 'upstream_failed' || code === 'upstream_timeout' || code === 'rate_limited'
