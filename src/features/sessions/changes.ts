import { and, desc, eq, gt, inArray, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { groupActor, toPublicActor } from '../../events/actor.ts'
import { splitType } from '../../events/catalogue.ts'
import { events } from '../../events/table.ts'
import { feedColumns, isInFeedOf, isOneOfTypes, toFeedEntry } from '../../records/feed.ts'
import { fullName } from '../../records/user-or-agent.ts'
import { quoteText } from '../../text/quoting.ts'
import { writtenAfter } from '../activity/service.ts'
import type { Project } from '../projects/schema.ts'
import { taskCompleted, taskFreed, taskRenewed } from '../tasks/events.ts'
import { tasks } from '../tasks/table.ts'
import { type Change, type ChangeActor, type ChangeSums, sumUpChanges } from './change-groups.ts'
import { formatDay, type Part } from './pack.ts'
import type { Worker } from './parts.ts'

/** The part of a brief about recent changes, as far as the caller may read them. */

export type Since = { at: string } | { seq: number }

/** Automatic events of tasks, which other parts of the brief cover. */
const automaticEvents = new Set<string>([taskRenewed.name, taskFreed.name])

/** Returns the types of events that a brief mentions. A plan creates epics, stories and tasks in one event. */
const briefEventTypes = ({ app: { records, events: catalogue } }: Ctx): string[] =>
  catalogue
    .types(({ kind }) => kind === 'plan' || records.find(kind)?.inBriefs === true)
    .filter((type) => !automaticEvents.has(type))

/** The most events that are counted, and the most that get a line. */
const MOST_COUNTED = 1000
const MOST_LINES = 100
const MOST_EARLIER = 2
/** Up to this number of records, the lines are enough and the totals are left out. */
const MOST_UNSUMMED = 5
/** Above this number of completions, lines show titles only. */
const MOST_NOTES = 8

interface ChangesRequest {
  since: Since
  worker: Worker
  /** Leaves out changes by the worker itself. */
  onlyOthers?: boolean
  /** The caller asks for this part: it gets most of the room. */
  isWanted?: boolean
}

export interface Changes {
  part: Part
  /** Ids of the records that it names. */
  subjects: ReadonlySet<string>
}

/** Sums up the changes in a project: totals, then a line for each actor, then one for each record, newest first. */
export async function changesIn(ctx: Ctx, project: Project, asked: ChangesRequest): Promise<Changes> {
  const { since, worker, onlyOthers } = asked
  const isIncluded = (row: Row) => !onlyOthers || !isBy(worker, row)
  const all = await countedEvents(ctx, project, since)
  const counted = all.filter(isIncluded)
  const sums = sumUpChanges(counted.map((row) => toChange(row, worker)))
  const isShort = sums.records <= MOST_UNSUMMED
  const nameOf = new Map(sums.actors.map(({ actor, short }) => [actor.id, isShort ? nameInFull(actor) : short]))
  const rows = counted.length > 0 ? (await shownEvents(ctx, project, since)).filter(isIncluded) : []
  const lines = await recordLines(ctx, rows, (row) => nameOf.get(actorOf(row, worker).id) ?? '')
  const from = 'at' in since ? `since ${formatDay(since.at)}` : 'since this was last saved'
  return {
    subjects: new Set(counted.map(({ subjectId }) => subjectId)),
    part: {
      title: `What ${onlyOthers ? 'others ' : ''}changed ${from}`,
      times: 'at' in since ? [{ text: formatDay(since.at), at: since.at }] : undefined,
      share: asked.isWanted ? 12 : 4,
      lines: isShort ? lines : [...summary(sums, all.length === MOST_COUNTED), ...lines],
    },
  }
}

/** Returns the totals, unless the line of the only actor says the same, and a line for each actor. */
const summary = ({ totals, actors }: ChangeSums, isCut: boolean): string[] => [
  ...(isCut ? [`the last ${MOST_COUNTED} changes: ${totals}`] : actors.length > 1 ? [`all: ${totals}`] : []),
  ...actors.map(({ line }) => line),
]

const nameInFull = (actor: ChangeActor): string => (actor.isMe ? 'you' : fullName(actor))

const isRelevantEvent = (ctx: Ctx, project: Project, since: Since): SQL | undefined =>
  and(
    eq(events.projectId, project.id),
    // Leaves out events from when the project belonged to another team.
    eq(events.organizationId, project.organizationId),
    'at' in since ? and(gt(events.at, since.at), writtenAfter(since.at)) : gt(events.seq, since.seq),
    isInFeedOf(ctx),
    isOneOfTypes(briefEventTypes(ctx)),
  )

const { data: _, ...withoutData } = feedColumns
const dataText = (field: string): SQL<string | null> => sql<string | null>`${events.data} ->> ${field}`

const countedEvents = (ctx: Ctx, project: Project, since: Since) =>
  ctx.db
    .select({
      ...withoutData,
      credentialId: events.credentialId,
      subjectId: sql<string>`coalesce(${events.subjectId}, ${events.id})`,
      key: dataText('key'),
      status: dataText('status'),
      planned: dataText('tasks'),
    })
    .from(events)
    .where(isRelevantEvent(ctx, project, since))
    .orderBy(desc(events.seq))
    .limit(MOST_COUNTED)
type Row = Omit<Awaited<ReturnType<typeof countedEvents>>[number], 'key' | 'status' | 'planned'>
type CountedRow = Awaited<ReturnType<typeof countedEvents>>[number]

const shownEvents = (ctx: Ctx, project: Project, since: Since) =>
  ctx.db
    .select({
      ...feedColumns,
      credentialId: events.credentialId,
      subjectId: sql<string>`coalesce(${events.subjectId}, ${events.id})`,
    })
    .from(events)
    .where(isRelevantEvent(ctx, project, since))
    .orderBy(desc(events.seq))
    .limit(MOST_LINES)
type ShownRow = Awaited<ReturnType<typeof shownEvents>>[number]

const isBy = (worker: Worker, { actorKind, actorId, credentialId }: Row): boolean =>
  actorKind === 'agent' ? actorId === worker.id : credentialId !== null && worker.credentials.includes(credentialId)

function actorOf(row: Row, worker: Worker): ChangeActor {
  const isMe = isBy(worker, row)
  const { name, for: person } = toPublicActor(groupActor(row).actor)
  return { id: isMe ? 'me' : `${row.actorId} ${person?.name}`, name, for: person, isMe }
}

function toChange(row: CountedRow, worker: Worker): Change {
  const { noun, verb } = splitType(row.type)
  const { subjectId, key, status } = row
  return { noun, verb, subjectId, key, status, planned: Number(row.planned ?? 0), actor: actorOf(row, worker) }
}

/** Returns a line for each record: its last change and actor, its earlier changes, and the notes of a completion. */
async function recordLines(ctx: Ctx, rows: readonly ShownRow[], by: (row: ShownRow) => string): Promise<string[]> {
  const bySubject = [...Map.groupBy(rows, ({ subjectId }) => subjectId).values()]
  const notes = await notesOf(ctx, rows)
  return bySubject.map(([last, ...before]) => {
    const row = last as ShownRow
    const { description } = toFeedEntry(ctx.app.events, row)
    const earlier = new Set(
      before.map((one) => `${withoutName(ctx, one)}${by(one) === by(row) ? '' : ` (${by(one)})`}`),
    )
    const said = notes.get(row.subjectId)
    return [
      `- ${by(row)} ${quoteText(description, 60)}`,
      said ? `: ${quoteText(said, 40)}` : '',
      earlier.size > 0 ? `; earlier: ${[...earlier].slice(0, MOST_EARLIER).join(', ')}` : '',
    ].join('')
  })
}

/** Returns a change of a record that was just named: `«commented on it»`. */
function withoutName(ctx: Ctx, row: ShownRow): string {
  const data = { ...row.data, key: 'it', title: undefined, name: undefined }
  return quoteText(toFeedEntry(ctx.app.events, { ...row, data }).description, 30)
}

/** Returns the notes of the completed tasks, if these are few. */
async function notesOf(ctx: Ctx, rows: readonly ShownRow[]): Promise<Map<string, string | null>> {
  const ids = [...new Set(rows.flatMap(({ type, subjectId }) => (type === taskCompleted.name ? [subjectId] : [])))]
  if (ids.length === 0 || ids.length > MOST_NOTES) return new Map()
  const found = await ctx.db
    .select({ id: tasks.id, notes: tasks.completionNotes })
    .from(tasks)
    .where(and(inArray(tasks.id, ids), eq(tasks.status, 'done')))
  return new Map(found.map(({ id, notes }) => [id, notes]))
}
