import { and, desc, eq, gt, type SQL } from 'drizzle-orm'
import type { Action, Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { authorize, member, type Rule } from '../../auth/policy.ts'
import { feedColumns, feedEntry, isOneOf, isToldTo } from '../../events/feed.ts'
import { events } from '../../events/table.ts'
import type { Project } from '../projects/schema.ts'
import { day, named, type Part, quoted } from './pack.ts'
import type { Worker } from './parts.ts'

/** The parts of a brief that say what changed, and what of it the caller may read. */

export type Since = { at: string } | { seq: number }

/** Whether the caller may read this part: a token may have fewer scopes than a brief has parts. */
export const may = (ctx: Ctx, what: Pick<Action<never, unknown>, 'rule'> | Rule): boolean => {
  try {
    authorize(ctx.actor, 'rule' in what ? what.rule : what, 'brief', ctx.app.clock)
    return true
  } catch {
    return false
  }
}

/** Returns the kinds of events that the caller may read. A plan creates epics, stories and tasks in one event. */
const readableKinds = (ctx: Ctx): Set<string> =>
  new Set(
    [...ctx.app.records.all.filter(({ inBriefs }) => inBriefs), { kind: 'plan', scope: 'tasks:read' as const }]
      .filter(({ scope }) => may(ctx, member(scope)))
      .map(({ kind }) => kind),
  )

export async function changes(
  ctx: Ctx,
  project: Project,
  { since, worker }: { since: Since; worker: Worker },
): Promise<{ others?: Part; own?: Part }> {
  const kinds = readableKinds(ctx)
  const types = ctx.app.events.types(({ kind }) => kinds.has(kind))
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
        isToldTo(userIdOf(ctx.actor)),
        isOneOf(types),
      ),
    )
    .orderBy(desc(events.seq))
    .limit(200)
  const mine = (row: (typeof rows)[number]): boolean =>
    row.actorKind === 'agent'
      ? row.actorId === worker.id
      : row.credentialId !== null && worker.credentials.includes(row.credentialId)
  const linesOf = (some: typeof rows): string[] => {
    const last = new Map<string, { line: string; times: number }>()
    for (const row of some) {
      const { description, actor } = feedEntry(ctx.app.events, row)
      const line = `${quoted(description, 80)} (${named(actor.name)})`
      const known = last.get(`${row.subjectId} ${line}`)
      if (known) known.times++
      else last.set(`${row.subjectId} ${line}`, { line: `- ${day(row.at)} ${line}`, times: 1 })
    }
    return [...last.values()].map(({ line, times }) => (times > 1 ? `${line}, ${times} times` : line)).slice(0, 50)
  }
  const from = 'at' in since ? `since ${day(since.at)}` : 'since this was last saved'
  return {
    others: { title: `What others changed ${from}`, share: 3, lines: linesOf(rows.filter((row) => !mine(row))) },
    own: { title: `What you did ${from}`, share: 3, lines: linesOf(rows.filter(mine)) },
  }
}
