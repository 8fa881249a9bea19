import type { Ctx } from '../../action.ts'
import { newId } from '../../db/columns.ts'
import { speaker } from '../agents/parties.ts'
import type { Evidence } from '../projects/workflow-schema.ts'
import type { TaskComplete } from './schema.ts'
import { taskEvidence } from './table.ts'

const commit = /^[0-9a-f]{7,40}$/i
const address = /^https?:\/\/\S+$/i
const pullRequest = /\/(pull|pulls|merge_requests)\/\d+/

/** Returns lines of evidence in the shape of a feature's: commits and addresses by what they are, the rest as text. */
export function evidenceOf(lines: readonly string[], notes: string | undefined): Evidence {
  const links = lines.filter((line) => address.test(line))
  const parts = {
    commits: lines.filter((line) => commit.test(line)),
    pullRequests: links.filter((line) => pullRequest.test(line)),
    links: links.filter((line) => !pullRequest.test(line)),
  }
  const said = lines.filter((line) => !commit.test(line) && !address.test(line))
  const given = Object.entries(parts).filter(([, list]) => list.length > 0)
  const summary = said.join('\n') || notes?.trim() || 'Completed'
  return { summary: summary.slice(0, 10_000), ...Object.fromEntries(given) }
}

/** Stores what was shown with a completion. Nobody has checked it, so it is reported. */
export async function keepEvidence(
  ctx: Ctx,
  taskId: string,
  { notes, evidence = [] }: Pick<TaskComplete, 'notes' | 'evidence'>,
): Promise<void> {
  if (evidence.length === 0) return
  const { type, id, name } = speaker(ctx)
  await ctx.db.insert(taskEvidence).values({
    id: newId(),
    taskId,
    level: 'reported',
    evidence: evidenceOf(evidence, notes),
    actorType: type,
    actorId: id,
    actorName: name,
    createdAt: ctx.now,
  })
}
