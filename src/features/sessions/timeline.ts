import { asc, desc, eq, gte, inArray, lte, ne, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { events } from '../../events/table.ts'
import { feedColumns, recordAddress, toFeedEntry } from '../../records/feed.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import { visibleEvents } from '../activity/service.ts'
import * as projects from '../projects/rows.ts'
import { projects as projectTable } from '../projects/table.ts'
import { taskClaimed, taskCompleted, taskReleased } from '../tasks/events.ts'
import { callMinutes } from '../tasks/table.ts'
import { sessionBriefed, sessionEnded, sessionPaused, sessionResumed, sessionStarted } from './events.ts'
import { isOwnSession, type Row, sessionRowColumns } from './rows.ts'
import { sessions } from './table.ts'
import type { Timeline } from './timeline-schema.ts'

const MOST_EVENTS = 1000
const MOST_OF_OTHERS = 300
const MOST_CALLS = 600

/** Finds a session of the caller, or of someone else in a project that the caller sees. */
async function findAny(ctx: Ctx, ref: string): Promise<Row> {
  const there = sql`${sessions.projectId} in (select ${projectTable.id} from ${projectTable}
    where ${projects.visibleTo(rightsOf(ctx.actor))})`
  const visible = or(isOwnSession(ctx), and(eq(sessions.organizationId, currentOrganization(ctx.actor)), there))
  const select = (match: SQL) => ctx.db.select(sessionRowColumns).from(sessions).where(and(match, visible)).limit(2)
  const found = await findByReference<Row>(ref, {
    id: (id) => select(eq(sessions.id, id)),
    name: async () => [],
    prefix: (prefix) => select(idStartsWith(sessions.id, prefix)),
  })
  if (!found) throw notFound('session', ref)
  return found
}

/** Returns every change of a session over time, with the claims, calls and briefs in it. */
export const getTimeline = read(
  'sessions.timeline',
  member('sessions:read'),
  async (ctx, { ref }: { ref: string }): Promise<Timeline> => {
    const row = await findAny(ctx, ref)
    const isOwn = row.userId === userIdOf(ctx.actor)
    const inIt = await eventsOf(ctx, or(eq(events.sessionId, row.id), eq(events.subjectId, row.id)), MOST_EVENTS + 1)
    const shown = inIt.slice(0, MOST_EVENTS)
    const byOthers = await eventsOfItsTasks(ctx, row, shown)
    const all = [...shown, ...byOthers].sort((a, b) => a.seq - b.seq)
    const { id, status, userId, agentId, projectId, taskId, startedAt, endedAt } = row
    const ids = new Set(shown.map((event) => event.id))
    return {
      ...{ id, own: isOwn, status, userId, agentId, projectId, taskId, startedAt, endedAt },
      spans: spansOf(all.filter(({ subjectId }) => subjectId === id)),
      holds: holdsOf(all, ids),
      briefs: isOwn ? await briefsOf(ctx, id) : [],
      events: all.map((event) => entryOf(ctx, event, ids.has(event.id))),
      more: inIt.length > MOST_EVENTS,
      calls: await callsOf(ctx, row, shown),
    }
  },
)

const columns = {
  ...feedColumns,
  seq: events.seq,
  subjectId: events.subjectId,
  credentialId: events.credentialId,
}
type TimelineEvent = Awaited<ReturnType<typeof eventsOf>>[number]

const eventsOf = (ctx: Ctx, which: SQL, limit: number) =>
  ctx.db
    .select(columns)
    .from(events)
    .where(and(which, visibleEvents(ctx)))
    .orderBy(desc(events.seq))
    .limit(limit)

const isTask = (ctx: Ctx, { type }: TimelineEvent): boolean => ctx.app.events.kindOf(type) === 'task'

/** Returns the changes that others made to the session's tasks while it lasted. */
async function eventsOfItsTasks(
  ctx: Ctx,
  { id, taskId }: Row,
  inIt: readonly TimelineEvent[],
): Promise<TimelineEvent[]> {
  const touched = inIt.filter((event) => isTask(ctx, event)).map(({ subjectId }) => subjectId)
  const tasks = [...new Set([...touched, taskId])].filter((one) => one !== null).slice(0, 100)
  const [last, first] = [inIt[0], inIt.at(-1)]
  if (tasks.length === 0 || !last || !first) return []
  return eventsOf(
    ctx,
    and(
      inArray(events.subjectId, tasks),
      gte(events.seq, first.seq),
      lte(events.seq, last.seq),
      or(sql`${events.sessionId} is null`, ne(events.sessionId, id)),
    ),
    MOST_OF_OTHERS,
  )
}

function entryOf(ctx: Ctx, event: TimelineEvent, own: boolean): Timeline['events'][number] {
  const { id, at, type, subjectId } = event
  const { description, actor, data } = toFeedEntry(ctx.app.events, event)
  const catalogue = ctx.app.events
  const path = recordAddress(catalogue, type, typeof data.key === 'string' ? data.key : subjectId)
  const kind = catalogue.kindOf(type) ?? null
  return {
    ...{ id, at, type, kind, description, actor, own, subjectId, path },
    line: catalogue.staffLineOf(type) ?? null,
    changes: changesIn(data),
  }
}

const LONGEST_VALUE = 2000
const toText = (value: unknown): string | null =>
  typeof value === 'string' ? value.slice(0, LONGEST_VALUE) : value == null ? null : String(value)

/** Returns the replaced values that an event names: its state (`from`, then `to` or `status`), and short fields. */
function changesIn({ from, to, status, values }: Record<string, unknown>): Timeline['events'][number]['changes'] {
  const next = to ?? status
  const state = typeof from === 'string' && typeof next === 'string' && from !== next
  return [
    ...(state ? [{ field: 'status', before: from, after: next }] : []),
    ...Object.entries((values ?? {}) as Record<string, readonly unknown[]>).map(([field, [before, after]]) => ({
      field,
      before: toText(before),
      after: toText(after),
    })),
  ]
}

const startEvents = new Set<string>([sessionStarted.name, sessionResumed.name])
const stopEvents = new Set<string>([sessionPaused.name, sessionEnded.name])

function spansOf(ofSession: readonly TimelineEvent[]): Timeline['spans'] {
  const spans: Timeline['spans'] = []
  for (const { type, at } of ofSession) {
    const last = spans.at(-1)
    if (startEvents.has(type) && last?.until !== null) spans.push({ from: at, until: null })
    if (stopEvents.has(type) && last?.until === null) last.until = at
  }
  return spans
}

/** A claim lasts until the task is released, done, or claimed by someone else. */
function holdsOf(all: readonly TimelineEvent[], inIt: ReadonlySet<string>): Timeline['holds'] {
  const holds: Timeline['holds'] = []
  for (const { id, type, at, subjectId, data } of all) {
    if (!subjectId) continue
    const open = holds.find((hold) => hold.taskId === subjectId && hold.until === null)
    const claims = type === taskClaimed.name
    const ends = type === taskReleased.name || type === taskCompleted.name || (claims && !inIt.has(id))
    if (open && ends) open.until = at
    if (!open && claims && inIt.has(id))
      holds.push({ taskId: subjectId, key: String(data.key ?? ''), from: at, until: null })
  }
  return holds
}

async function briefsOf(ctx: Ctx, id: string): Promise<Timeline['briefs']> {
  const rows = await ctx.db
    .select({ at: events.at, data: events.data })
    .from(events)
    .where(and(eq(events.subjectId, id), eq(events.type, sessionBriefed.name)))
    .orderBy(asc(events.seq))
    .limit(100)
  return rows.map(({ at, data }) => ({
    at,
    tokens: Number(data.tokens),
    budget: Number(data.budget),
    parts: (data.parts as Timeline['briefs'][number]['parts'] | undefined) ?? [],
  }))
}

/** Returns the calls of the session's credentials; in long sessions, one entry covers several minutes. */
async function callsOf(ctx: Ctx, row: Row, inIt: readonly TimelineEvent[]): Promise<Timeline['calls']> {
  const credentials = [...new Set([row.credentialId, ...inIt.map((event) => event.credentialId)])]
  const until = row.endedAt ?? ctx.now
  const minutes = Math.max(1, (Date.parse(until) - Date.parse(row.startedAt)) / 60_000)
  const width = Math.ceil(minutes / MOST_CALLS) * 60
  const at = sql`floor(extract(epoch from ${callMinutes.minute}) / ${width}::int) * ${width}::int`
  const known = credentials.filter((id) => id !== null)
  if (known.length === 0) return []
  const rows = await ctx.db
    .select({ second: sql<number>`(${at})::bigint`.mapWith(Number), n: sql<number>`sum(${callMinutes.calls})::int` })
    .from(callMinutes)
    .where(
      and(
        inArray(callMinutes.credentialId, known),
        gte(callMinutes.minute, new Date(Date.parse(row.startedAt) - 60_000).toISOString()),
        lte(callMinutes.minute, until),
      ),
    )
    .groupBy(sql`1`)
    .orderBy(sql`1`)
    .limit(MOST_CALLS + 2)
  return rows.map(({ second, n }) => ({ minute: new Date(second * 1000).toISOString(), n }))
}
