import { and, eq } from 'drizzle-orm'
import { type Ctx, write } from '../../../action.ts'
import { newId } from '../../../db/columns.ts'
import { notFound } from '../../../errors.ts'
import { currentUserOrAgent } from '../../agents/users-and-agents.ts'
import type { Evidence } from '../../projects/workflow/workflow-schema.ts'
import { taskEvidenceAdded, taskVerified } from '../events.ts'
import { findPermitted, taskVerifyRule } from '../refusals.ts'
import { taskEvent } from '../rows.ts'
import type { Task, TaskEvidence } from '../schema.ts'
import { taskEvidence } from '../table.ts'
import { itemsIn } from './evidence-line.ts'

const commit = /^[0-9a-f]{7,40}$/i
const address = /^https?:\/\/\S+$/i
const pullRequest = /\/(pull|pulls|merge_requests)\/\d+/

/**
 * Returns lines of evidence in the shape of a feature's evidence: commits and addresses by their type, the rest as
 * text. `otherwise` is the summary if there is no text.
 */
function evidenceOf(lines: readonly string[], otherwise: string): Evidence {
  const links = lines.filter((line) => address.test(line))
  const parts = {
    commits: lines.filter((line) => commit.test(line)),
    pullRequests: links.filter((line) => pullRequest.test(line)),
    links: links.filter((line) => !pullRequest.test(line)),
  }
  const said = lines.filter((line) => !commit.test(line) && !address.test(line))
  const given = Object.entries(parts).filter(([, list]) => list.length > 0)
  const summary = said.join('\n') || otherwise
  return { summary: summary.slice(0, 10_000), ...Object.fromEntries(given) }
}

/**
 * Stores the new parts of a task's evidence and returns its id; undefined if all of it is stored already. Its level is
 * `reported`, because no one has checked it yet.
 */
export async function storeEvidence(
  ctx: Ctx,
  taskId: string,
  lines: readonly string[],
  otherwise: string,
): Promise<string | undefined> {
  if (lines.length === 0) return undefined
  const rows = await ctx.db
    .select({ evidence: taskEvidence.evidence })
    .from(taskEvidence)
    .where(eq(taskEvidence.taskId, taskId))
  const there = new Set(rows.flatMap(({ evidence }) => [...evidence.summary.split('\n'), ...itemsIn(evidence)]))
  const fresh = [...new Set(lines.map((line) => line.trim()))].filter((line) => line !== '' && !there.has(line))
  if (fresh.length === 0) return undefined
  const evidenceId = newId()
  const { type, id, name } = currentUserOrAgent(ctx)
  await ctx.db.insert(taskEvidence).values({
    id: evidenceId,
    taskId,
    level: 'reported',
    evidence: evidenceOf(fresh, otherwise),
    actorType: type,
    actorId: id,
    actorName: name,
    createdAt: ctx.now,
  })
  return evidenceId
}

/** Adds evidence to a task without completing it. */
export async function addEvidence(ctx: Ctx, task: Task, lines: readonly string[]): Promise<void> {
  const evidenceId = await storeEvidence(ctx, task.id, lines, 'Evidence')
  if (evidenceId) ctx.emit(taskEvidenceAdded, taskEvent(task, { evidenceId }))
}

/** Marks evidence as checked by the caller. Evidence that someone has already checked stays unchanged. */
export const verify = write(
  'tasks.verify',
  taskVerifyRule,
  async (ctx, { ref, evidenceId }: { ref: string; evidenceId: string }): Promise<TaskEvidence> => {
    const { task } = await findPermitted(ctx, ref, 'verify')
    const mine = and(eq(taskEvidence.id, evidenceId), eq(taskEvidence.taskId, task.id))
    const [row] = await ctx.db.select().from(taskEvidence).where(mine).for('update')
    if (!row) throw notFound('evidence', evidenceId)
    if (row.level !== 'verified') {
      await ctx.db.update(taskEvidence).set({ level: 'verified' }).where(mine)
      ctx.emit(taskVerified, taskEvent(task, { evidenceId }))
    }
    const { id, evidence, actorType: type, actorId, actorName: name, createdAt } = row
    return { id, level: 'verified', evidence, actor: { type, id: actorId, name }, createdAt }
  },
  { idempotent: true },
)
