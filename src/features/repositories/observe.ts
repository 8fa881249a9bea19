import { and, eq, isNull } from 'drizzle-orm'
import { flow, read, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import type { RemoteRepository } from '../../outside/codehosts/host.ts'
import type { Evidence } from '../projects/workflow-schema.ts'
import { users } from '../users/table.ts'
import { featureObserved } from '../workflow/events.ts'
import { featureEvidence, features } from '../workflow/table.ts'
import { openRemoteFor } from './remote.ts'
import { namedBy } from './rows.ts'
import { isAway } from './snapshot.ts'
import { repositories } from './table.ts'

/**
 * Checks at the code host that what was reported at a gate exists. Runs as a job, so that no request waits for a host.
 */

const REPOSITORIES = 5
const ITEMS = 20

interface Shown {
  evidenceId: string
}

const reported = read('repositories.reported', machine, async (ctx, { evidenceId }: Shown) => {
  const [found] = await ctx.db
    .select({
      evidence: featureEvidence.evidence,
      gate: featureEvidence.gate,
      userId: users.id,
      featureId: features.id,
      projectId: features.projectId,
      organizationId: features.organizationId,
      title: features.title,
    })
    .from(featureEvidence)
    .innerJoin(features, and(eq(features.id, featureEvidence.featureId), isNull(features.deletedAt)))
    .innerJoin(users, and(eq(users.id, featureEvidence.actorId), eq(users.status, 'active')))
    .where(and(eq(featureEvidence.id, evidenceId), eq(featureEvidence.level, 'reported')))
  if (!found) return undefined
  const connected = await ctx.db
    .select({
      provider: repositories.provider,
      host: repositories.host,
      owner: repositories.owner,
      name: repositories.name,
      url: repositories.url,
    })
    .from(repositories)
    .where(and(eq(repositories.projectId, found.projectId), isNull(repositories.deletedAt)))
    .orderBy(repositories.createdAt, repositories.id)
    .limit(REPOSITORIES)
  return { ...found, connected }
})

/** Uses the token of the user who reported the evidence. */
export const observe = flow('repositories.observe', machine, async (ctx, { evidenceId }: Shown): Promise<void> => {
  const found = await reported(ctx, { evidenceId })
  if (!found || found.connected.length === 0) return
  const places: Looked[] = []
  for (const row of found.connected)
    places.push({ url: row.url, remote: await openRemoteFor(ctx, found.userId, namedBy(ctx, row)) })
  const seen = await seenOf(found.evidence, places).catch((error: unknown) => {
    // An unreachable host is asked again by the next attempt; one that refuses the token would refuse it again.
    if (error instanceof AppError && !isAway(error)) return undefined
    throw error
  })
  if (seen) await mark(ctx, { ...found, evidenceId, seen })
})

interface Looked {
  url: string
  remote: RemoteRepository
}

/**
 * Returns the commits, pull requests and runs in these repositories that the evidence names; undefined if any is
 * missing.
 */
async function seenOf(
  { commits = [], pullRequests = [], links = [] }: Evidence,
  places: readonly Looked[],
): Promise<string[] | undefined> {
  const seen: string[] = []
  const runs = links.filter((link) => places.some(({ url }) => runIn(link, url) !== undefined))
  if (commits.length + pullRequests.length + runs.length > ITEMS) return undefined
  const looks: [items: readonly string[], look: (item: string, place: Looked) => Promise<boolean>][] = [
    [
      commits,
      async (item, { url, remote }) =>
        isThere(shaIn(item, url), async (sha) => (await remote.commit(sha)) !== undefined),
    ],
    [pullRequests, (item, { url, remote }) => isThere(pullIn(item, url, places.length === 1), remote.hasPull)],
    [runs, (item, { url, remote }) => isThere(runIn(item, url), remote.passed)],
  ]
  for (const [items, look] of looks)
    for (const item of items) {
      let there = false
      for (const place of places) there ||= await look(item, place)
      if (!there) return undefined
      seen.push(item)
    }
  return seen.length > 0 ? seen : undefined
}

const isThere = async <T>(named: T | undefined, look: (named: T) => Promise<boolean>): Promise<boolean> =>
  named !== undefined && look(named)

/** Returns what follows the repository's address, if the text is an address inside it. */
const within = (text: string, url: string): string | undefined =>
  text.toLowerCase().startsWith(`${url.toLowerCase()}/`) ? text.slice(url.length) : undefined

const numberIn = (path: string | undefined, pattern: RegExp): number | undefined => {
  const digits = path === undefined ? undefined : pattern.exec(path)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

function shaIn(item: string, url: string): string | undefined {
  if (/^[0-9a-f]{7,40}$/i.test(item)) return item.toLowerCase()
  return /^(?:\/-)?\/commit\/([0-9a-f]{7,40})$/i.exec(within(item, url) ?? '')?.[1]?.toLowerCase()
}
/** `#7` is unambiguous only with a single repository. */
const pullIn = (item: string, url: string, only: boolean): number | undefined =>
  numberIn(within(item, url), /^\/(?:pulls?|-\/merge_requests)\/(\d{1,9})(?:[/?#]|$)/) ??
  (only ? numberIn(item, /^[#!]?(\d{1,9})$/) : undefined)
const runIn = (item: string, url: string): number | undefined =>
  numberIn(within(item, url), /^\/(?:actions\/runs|-\/pipelines)\/(\d{1,15})(?:[/?#]|$)/)

interface Seen extends Shown {
  featureId: string
  organizationId: string
  projectId: string
  title: string
  gate: string
  seen: string[]
}

const mark = write(
  'repositories.mark',
  machine,
  async (ctx, { evidenceId, featureId, organizationId, projectId, ...data }: Seen): Promise<void> => {
    await ctx.db
      .update(featureEvidence)
      .set({ level: 'observed' })
      .where(and(eq(featureEvidence.id, evidenceId), eq(featureEvidence.level, 'reported')))
    ctx.emit(featureObserved, {
      subjectId: featureId,
      organizationId,
      projectId,
      data: { title: data.title, gate: data.gate, seen: data.seen },
    })
  },
)
