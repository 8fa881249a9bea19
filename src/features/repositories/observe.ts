import { and, eq, isNull } from 'drizzle-orm'
import { flow, read, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import type { RemoteRepository } from '../../outside/codehosts/host.ts'
import type { Evidence } from '../projects/workflow/workflow-schema.ts'
import { users } from '../users/table.ts'
import { featureObserved } from '../workflow/events.ts'
import { markMissing } from '../workflow/reopening.ts'
import type { MissingItem } from '../workflow/schema.ts'
import { featureEvidence, features } from '../workflow/table.ts'
import { openRemoteFor } from './remote.ts'
import { remoteReference } from './rows.ts'
import { isUnreachable } from './snapshot.ts'
import { repositories } from './table.ts'

/** Checks at the code host that submitted evidence exists. Runs as a job, so that no request waits for a host. */

const REPOSITORIES = 5
/** Number of items that are looked up. Evidence with more items can be found missing, but never confirmed. */
const ITEMS = 20

interface EvidenceRef {
  evidenceId: string
}

/** Evidence that still counts and is unchecked. */
const isUnchecked = (evidenceId: string) =>
  and(eq(featureEvidence.id, evidenceId), eq(featureEvidence.level, 'reported'), isNull(featureEvidence.reopenedAt))

const readReportedEvidence = read('repositories.reported', machine, async (ctx, { evidenceId }: EvidenceRef) => {
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
    .where(isUnchecked(evidenceId))
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
    .limit(REPOSITORIES + 1)
  return { ...found, connected }
})

/** Uses the token of the user who reported the evidence. */
export const observe = flow(
  'repositories.observe',
  machine,
  async (ctx, { evidenceId }: EvidenceRef): Promise<void> => {
    const found = await readReportedEvidence(ctx, { evidenceId })
    if (!found || found.connected.length === 0) return
    const places: LookupPlace[] = []
    for (const row of found.connected.slice(0, REPOSITORIES)) {
      const remote = await openRemoteFor(ctx, found.userId, remoteReference(ctx, row))
      places.push({ url: row.url, isOnly: found.connected.length === 1, remote, showsBranches: branchesIn(remote) })
    }
    const named = namedIn(found.evidence, places)
    const findings = await lookUp(named.slice(0, ITEMS), places).catch((error: unknown) => {
      // The next attempt asks an unreachable host again; a host that refuses the token would refuse it again.
      if (error instanceof AppError && !isUnreachable(error)) return []
      throw error
    })
    const missing = findings.flatMap(({ item, state }): MissingItem[] => {
      if (state === 'failed') return [{ item, reason: 'failed' }]
      return state === 'absent' ? [{ item, reason: 'not_found' }] : []
    })
    // A repository that was not asked may contain the item.
    const areAllAsked = found.connected.length <= REPOSITORIES
    if (missing.length > 0 && areAllAsked) return markMissing(ctx, { evidenceId, missing })
    if (named.length === 0 || findings.length < named.length) return
    if (findings.every(({ state }) => state === 'there'))
      await markSeen(ctx, { ...found, evidenceId, seen: findings.map(({ item }) => item) })
  },
)

interface LookupPlace {
  url: string
  /** The project has no other repository. */
  isOnly: boolean
  remote: RemoteRepository
  /** Whether the token can list branches here. */
  showsBranches: () => Promise<boolean>
}

/** Asks the host once, however many items are absent. */
function branchesIn(remote: RemoteRepository): () => Promise<boolean> {
  let asked: Promise<boolean> | undefined
  return () => {
    asked ??= remote.branches().then((names) => names.length > 0)
    return asked
  }
}

/** `unknown`: the item cannot be looked up in this repository, or has no result yet. */
type State = 'there' | 'absent' | 'failed' | 'unknown'
type EvidenceLookup = (item: string, place: LookupPlace) => Promise<State>

const evidenceLookups = {
  commits: (item, { url, remote }) =>
    stateOf(shaIn(item, url), async (sha) => ((await remote.commit(sha)) ? 'there' : 'absent')),
  pullRequests: (item, { url, remote, isOnly }) =>
    stateOf(pullIn(item, url, isOnly), async (number) => ((await remote.hasPull(number)) ? 'there' : 'absent')),
  runs: (item, { url, remote }) =>
    stateOf(runIn(item, url), async (id) => {
      const result = await remote.run(id)
      if (result === undefined) return 'absent'
      return result === 'passed' ? 'there' : result === 'failed' ? 'failed' : 'unknown'
    }),
} satisfies Record<string, EvidenceLookup>

const stateOf = async <T>(named: T | undefined, look: (named: T) => Promise<State>): Promise<State> =>
  named === undefined ? 'unknown' : look(named)

type NamedItem = [item: string, look: EvidenceLookup]

/** Returns the commits, pull requests and CI runs that evidence names. */
function namedIn(
  { commits = [], pullRequests = [], testRuns = [], links = [] }: Evidence,
  places: readonly LookupPlace[],
): NamedItem[] {
  const runs = [...testRuns, ...links].filter((link) => places.some(({ url }) => runIn(link, url) !== undefined))
  return [
    ...commits.map((item): NamedItem => [item, evidenceLookups.commits]),
    ...pullRequests.map((item): NamedItem => [item, evidenceLookups.pullRequests]),
    ...runs.map((item): NamedItem => [item, evidenceLookups.runs]),
  ]
}

async function lookUp(
  items: readonly NamedItem[],
  places: readonly LookupPlace[],
): Promise<{ item: string; state: State }[]> {
  const findings: { item: string; state: State }[] = []
  for (const [item, look] of items) findings.push({ item, state: await lookIn(item, look, places) })
  return findings
}

async function lookIn(item: string, look: EvidenceLookup, places: readonly LookupPlace[]): Promise<State> {
  const absentFrom: LookupPlace[] = []
  let state: State = 'unknown'
  for (const place of places) {
    const here = await look(item, place)
    if (here === 'there') return here
    if (here === 'failed') state = here
    if (here === 'absent') absentFrom.push(place)
  }
  if (state === 'failed' || absentFrom.length === 0) return state
  // Hosts also return 404 for items that a token cannot read.
  for (const { showsBranches } of absentFrom) if (!(await showsBranches())) return 'unknown'
  return 'absent'
}

/** Returns the part of an address after the repository's address; undefined for other texts. */
const pathWithin = (text: string, url: string): string | undefined =>
  text.toLowerCase().startsWith(`${url.toLowerCase()}/`) ? text.slice(url.length) : undefined

const numberIn = (path: string | undefined, pattern: RegExp): number | undefined => {
  const digits = path === undefined ? undefined : pattern.exec(path)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

function shaIn(item: string, url: string): string | undefined {
  if (/^[0-9a-f]{7,40}$/i.test(item)) return item.toLowerCase()
  return /^(?:\/-)?\/commit\/([0-9a-f]{7,40})$/i.exec(pathWithin(item, url) ?? '')?.[1]?.toLowerCase()
}
/** `#7` is unambiguous only with a single repository. */
const pullIn = (item: string, url: string, isOnly: boolean): number | undefined =>
  numberIn(pathWithin(item, url), /^\/(?:pulls?|-\/merge_requests)\/(\d{1,9})(?:[/?#]|$)/) ??
  (isOnly ? numberIn(item, /^[#!]?(\d{1,9})$/) : undefined)
const runIn = (item: string, url: string): number | undefined =>
  numberIn(pathWithin(item, url), /^\/(?:actions\/runs|-\/pipelines)\/(\d{1,15})(?:[/?#]|$)/)

interface ObservedEvidence extends EvidenceRef {
  featureId: string
  organizationId: string
  projectId: string
  title: string
  gate: string
  seen: string[]
}

const markSeen = write(
  'repositories.mark',
  machine,
  async (ctx, { evidenceId, featureId, organizationId, projectId, ...data }: ObservedEvidence): Promise<void> => {
    const marked = await ctx.db
      .update(featureEvidence)
      .set({ level: 'observed' })
      .where(isUnchecked(evidenceId))
      .returning({ id: featureEvidence.id })
    if (marked.length === 0) return
    ctx.emit(featureObserved, {
      subjectId: featureId,
      organizationId,
      projectId,
      data: { title: data.title, gate: data.gate, seen: data.seen },
    })
  },
)
