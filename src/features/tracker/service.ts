import { desc, eq, inArray, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { admin } from '../../auth/policy.ts'
import { contains } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { createClient } from '../../outside/codehosts/client.ts'
import type { RemoteIssue } from '../../outside/codehosts/host.ts'
import { operatorHost, parseRepository, saveTokenStep } from '../../outside/codehosts/host-address.ts'
import { hostProviders } from '../../outside/codehosts/index.ts'
import { keyset } from '../../records/page.ts'
import { tokenFor } from '../integrations/service.ts'
import { secretOf } from '../settings/service.ts'
import { settingsOf } from '../settings/values.ts'
import { trackerSynced } from './events.ts'
import type {
  TrackedIssuePage,
  TrackedIssueQuery,
  TrackedRepository,
  TrackedRepositoryList,
  TrackedRepositoryQuery,
  TrackerSync,
  TrackerSynced,
} from './schema.ts'
import { trackedIssues, trackedRepositories } from './table.ts'

/** Time limit for all calls for one repository together. */
const WHOLE_MS = 20_000
const PER_MINUTE = 60
/** Pages that one sync reads. The oldest changes come first, so the next sync continues where this one ended. */
const PAGES = 10

/** Returns the token of the setting, otherwise that of the caller. */
async function tokenOf(ctx: Ctx): Promise<string> {
  const place = operatorHost(ctx.app.config)
  const stored = await secretOf(ctx, 'tracker', 'token')
  const own = stored ?? (ctx.actor.userId ? await tokenFor(ctx, ctx.actor.userId, place) : undefined)
  if (!own)
    throw new AppError(
      'forbidden',
      `There is no token for ${new URL(place.base).host}. Set tracker.token, or save one of your own.`,
      { next: [saveTokenStep(place.provider)] },
    )
  return own
}

const clientOf = (ctx: Ctx, token: string) => {
  const place = operatorHost(ctx.app.config)
  return createClient(ctx.app, place, hostProviders[place.provider], token, AbortSignal.timeout(WHOLE_MS))
}

const urlOf = ({ app }: Ctx, repo: string): string => `${operatorHost(app.config).base}/${repo}`

export const listRepositories = read(
  'tracker.listRepositories',
  admin,
  async (ctx, { available }: TrackedRepositoryQuery): Promise<TrackedRepositoryList> => {
    const { repositories } = (await settingsOf(ctx)).tracker
    const isOfToken = available === '1' || available === 'true'
    const names = isOfToken ? await reachable(ctx) : repositories
    return { items: await describeRepositories(ctx, names, new Set(repositories)) }
  },
)

async function reachable(ctx: Ctx): Promise<string[]> {
  const { driver, clock } = ctx.app
  await countAttempt(driver, `tracker:${userIdOf(ctx.actor)}`, PER_MINUTE, 60, clock(), 'requests to code hosts')
  const client = clientOf(ctx, await tokenOf(ctx))
  const found = await hostProviders[client.place.provider].listRepositories(client)
  return found.map(({ owner, name }) => `${owner}/${name}`)
}

async function describeRepositories(
  ctx: Ctx,
  names: string[],
  tracked: ReadonlySet<string>,
): Promise<TrackedRepository[]> {
  if (names.length === 0) return []
  const counts = await ctx.db
    .select({ repo: trackedIssues.repo, state: trackedIssues.state, n: sql<number>`count(*)::int` })
    .from(trackedIssues)
    .where(inArray(trackedIssues.repo, names))
    .groupBy(trackedIssues.repo, trackedIssues.state)
  const known = await ctx.db.select().from(trackedRepositories).where(inArray(trackedRepositories.repo, names))
  const countOf = (repo: string, state: string) =>
    counts.find((row) => row.repo === repo && row.state === state)?.n ?? 0
  return names.map((repo) => {
    const row = known.find((one) => one.repo === repo)
    return {
      repo,
      url: urlOf(ctx, repo),
      tracked: tracked.has(repo),
      open: countOf(repo, 'open'),
      closed: countOf(repo, 'closed'),
      syncedAt: row?.syncedAt ?? null,
      error: row?.error ?? null,
    }
  })
}

export const listIssues = read(
  'tracker.listIssues',
  admin,
  async (ctx, query: TrackedIssueQuery): Promise<TrackedIssuePage> => {
    const page = keyset({ updatedAt: trackedIssues.updatedAt }, trackedIssues.id, query, { sort: 'updatedAt' })
    const filters = and(
      query.repo ? eq(trackedIssues.repo, query.repo) : undefined,
      query.state && eq(trackedIssues.state, query.state),
      query.search ? contains(trackedIssues.title, query.search) : undefined,
    )
    const rows = await ctx.db
      .select()
      .from(trackedIssues)
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(trackedIssues, filters) : undefined)
  },
)

interface MirroredIssues {
  repo: string
  issues: RemoteIssue[]
}

/** Issues in one statement. */
const AT_ONCE = 200
const excludedColumns = {
  title: sql`excluded.title`,
  state: sql`excluded.state`,
  labels: sql`excluded.labels`,
  author: sql`excluded.author`,
  url: sql`excluded.url`,
  updatedAt: sql`excluded.updated_at`,
}

/** Stores the issues of one repository, in one transaction. */
const storeIssues = write(
  'tracker.store',
  admin,
  async (ctx, { repo, issues }: MirroredIssues): Promise<{ added: number; changed: number }> => {
    // A list that changes while it is read in pages may contain an issue twice.
    const rows = [
      ...new Map(
        issues.map((issue) => [issue.number, { ...issue, repo, updatedAt: issue.updatedAt ?? ctx.now }]),
      ).values(),
    ]
    let [added, changed] = [0, 0]
    for (let from = 0; from < rows.length; from += AT_ONCE) {
      const stored = await ctx.db
        .insert(trackedIssues)
        .values(rows.slice(from, from + AT_ONCE))
        .onConflictDoUpdate({
          target: [trackedIssues.repo, trackedIssues.number],
          set: excludedColumns,
          setWhere: sql`${trackedIssues.updatedAt} <> excluded.updated_at or ${trackedIssues.title} <> excluded.title
            or ${trackedIssues.state} <> excluded.state or ${trackedIssues.labels} <> excluded.labels`,
        })
        .returning({ isNew: sql<boolean>`(xmax = 0)` })
      const fresh = stored.filter(({ isNew }) => isNew).length
      added += fresh
      changed += stored.length - fresh
    }
    await storeState(ctx, repo, { syncedAt: ctx.now, error: null })
    ctx.emit(trackerSynced, { userId: ctx.actor.userId, data: { repo, added, changed } })
    return { added, changed }
  },
)

const storeFailure = write(
  'tracker.fail',
  admin,
  (ctx, { repo, error }: { repo: string; error: string }): Promise<void> => storeState(ctx, repo, { error }),
)

async function storeState(ctx: Ctx, repo: string, set: { syncedAt?: string; error: string | null }): Promise<void> {
  await ctx.db
    .insert(trackedRepositories)
    .values({ repo, ...set })
    .onConflictDoUpdate({ target: trackedRepositories.repo, set })
}

/** Reads the issues of one repository that changed since the last sync. */
async function readIssues(ctx: Ctx, repo: string, token: string): Promise<MirroredIssues['issues']> {
  const client = clientOf(ctx, token)
  const { owner, name } = parseRepository(repo, [], client.place)
  const remote = hostProviders[client.place.provider].openRepository(client, { owner, name })
  const [latest] = await ctx.db
    .select({ updatedAt: trackedIssues.updatedAt })
    .from(trackedIssues)
    .where(eq(trackedIssues.repo, repo))
    .orderBy(desc(trackedIssues.updatedAt))
    .limit(1)
  const issues: MirroredIssues['issues'] = []
  for (let page = 1; page <= PAGES; page++) {
    const { items, more } = await remote.issues({ page, since: latest?.updatedAt })
    issues.push(...items)
    if (!more) break
  }
  return issues
}

/** Mirrors the issues of all repositories of the setting, or of one of them. A failure does not stop the others. */
export const syncIssues = flow(
  'tracker.sync',
  admin,
  async (ctx, { repo: only }: TrackerSync): Promise<TrackerSynced> => {
    const { repositories } = (await settingsOf(ctx)).tracker
    const wanted = only === undefined ? repositories : repositories.filter((repo) => repo === only)
    if (only !== undefined && wanted.length === 0) throw notFound('repository', only, 'in the setting tracker')
    const token = await tokenOf(ctx)
    const items: TrackerSynced['items'] = []
    for (const repo of wanted) {
      try {
        items.push({
          repo,
          ...(await storeIssues(ctx, { repo, issues: await readIssues(ctx, repo, token) })),
          error: null,
        })
      } catch (problem) {
        if (!(problem instanceof AppError)) throw problem
        const error = problem.message.slice(0, 500)
        await storeFailure(ctx, { repo, error })
        items.push({ repo, added: 0, changed: 0, error })
      }
    }
    return { items }
  },
  { outside: true },
)
