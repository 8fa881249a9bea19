import { and, desc, eq, gt, type SQL } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { events } from '../../events/table.ts'
import { feedColumns, feedEntry, isOneOf, isToldTo } from '../../records/feed.ts'
import { inFull } from '../../records/party.ts'
import { quoted } from '../../text/quoted.ts'
import type { Project } from '../projects/schema.ts'
import { day, type Part } from './pack.ts'
import type { Worker } from './parts.ts'

/** The parts of a brief that say what changed, and what of it the caller may read. */

export type Since = { at: string } | { seq: number }

/** Returns the types of events that a brief mentions. A plan creates epics, stories and tasks in one event. */
const mentioned = ({ app: { records, events: catalogue } }: Ctx): string[] =>
  catalogue.types(({ kind }) => kind === 'plan' || records.find(kind)?.inBriefs === true)

type Row = Parameters<typeof feedEntry>[1] & { at: string }

const MOST_EARLIER = 3
const author = (name: string): string => ` (${name})`

/** Returns what somebody did to a record that was named just before: `«commented on it» (Ada)`. */
function withoutName(ctx: Ctx, row: Row, by: (name: string) => string): string {
  const data = { ...row.data, key: 'it', title: undefined, name: undefined }
  const { description, actor } = feedEntry(ctx.app.events, { ...row, data })
  return `${quoted(description, 30)}${by(inFull(actor))}`
}

export async function changes(
  ctx: Ctx,
  project: Project,
  { since, worker }: { since: Since; worker: Worker },
): Promise<{ others?: Part; own?: Part }> {
  const after: SQL = 'at' in since ? gt(events.at, since.at) : gt(events.seq, since.seq)
  const rows = await ctx.db
    .select({ ...feedColumns, credentialId: events.credentialId, subjectId: events.subjectId })
    .from(events)
    .where(
      and(
        eq(events.projectId, project.id),
        // Leaves out events from when the project belonged to another team.
        eq(events.organizationId, project.organizationId),
        after,
        isToldTo(ctx),
        isOneOf(mentioned(ctx)),
      ),
    )
    .orderBy(desc(events.seq))
    .limit(200)
  const mine = (row: (typeof rows)[number]): boolean =>
    row.actorKind === 'agent'
      ? row.actorId === worker.id
      : row.credentialId !== null && worker.credentials.includes(row.credentialId)
  // One line for each record: its last change, then what was done before.
  const linesOf = (some: typeof rows, by: (name: string) => string): string[] => {
    const bySubject = Map.groupBy(some, (row) => row.subjectId ?? row.at)
    return [...bySubject.values()].map(([last, ...before]) => {
      const row = last as Row
      const { description, actor } = feedEntry(ctx.app.events, row)
      const line = `- ${day(row.at)} ${quoted(description, 60)}${by(inFull(actor))}`
      const earlier = [...new Set(before.map((row) => withoutName(ctx, row, by)))]
      return earlier.length > 0 ? `${line}; earlier: ${earlier.slice(0, MOST_EARLIER).join(', ')}` : line
    })
  }
  const from = 'at' in since ? `since ${day(since.at)}` : 'since this was last saved'
  const times = 'at' in since ? [{ text: day(since.at), at: since.at }] : undefined
  return {
    others: {
      title: `What others changed ${from}`,
      times,
      share: 3,
      lines: linesOf(
        rows.filter((row) => !mine(row)),
        author,
      ),
    },
    own: { title: `What you did ${from}`, times, share: 1, lines: linesOf(rows.filter(mine), () => '') },
  }
}
