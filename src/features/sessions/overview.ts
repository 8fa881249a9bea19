import type { Ctx } from '../../action.ts'
import { quoteName, quoteText } from '../../text/quoting.ts'
import { listRecentProjects } from '../projects/rows.ts'
import { listMyTasks } from '../tasks/lists/my-tasks.ts'
import { countReady, MOST_COUNTED } from '../tasks/lists/ready-list.ts'
import { checkpointFor } from '../tasks/refusals.ts'
import { findWithProject } from '../tasks/rows.ts'
import { formatDay, type Part } from './pack.ts'
import { handoverOf, type LiveTask } from './parts.ts'

/** What a caller without a project needs to begin: its tasks in all projects, and the projects with ready tasks. */

const MOST_TASKS = 10
const MOST_HANDOVERS = 3
const MOST_PROJECTS = 12

/**
 * Lists the tasks that the caller holds or is assigned to, with the checkpoint of their last worker. `live`: the task
 * that another part describes.
 */
export async function ownTasks(ctx: Ctx, live: LiveTask | undefined): Promise<Part> {
  const items = (await listMyTasks(ctx, {})).filter(({ id }) => id !== live?.id)
  const lines: string[] = []
  let handovers = 0
  for (const { id, key, title, status, priority, blockedBy, dueAt, lease } of items.slice(0, MOST_TASKS)) {
    const facts = [
      status,
      priority !== 'medium' && priority,
      dueAt && `due ${dueAt.slice(0, 10)}`,
      blockedBy.length > 0 && `waits for ${blockedBy.join(', ')}`,
      lease && `${lease.own ? 'yours' : `held by ${quoteName(lease.holder.name)}`} until ${formatDay(lease.expiresAt)}`,
    ]
    lines.push(`- ${key} ${quoteText(title, 60)} (${facts.filter(Boolean).join(', ')})`)
    const begun = status === 'in_progress' && handovers < MOST_HANDOVERS
    const saved = begun ? checkpointFor(ctx, await findWithProject(ctx, id)) : null
    if (saved && ++handovers) lines.push(`  ${handoverOf(saved)}`)
  }
  if (items.length > MOST_TASKS) lines.push(`and ${items.length - MOST_TASKS} more: list_tasks with assignee me`)
  return { title: live ? 'Your other tasks' : 'Your tasks', share: 6, fair: true, lines }
}

/** Lists the active projects with their ready tasks, those with most of them first. */
export async function projectsWithWork(ctx: Ctx): Promise<Part> {
  const projects = await listRecentProjects(ctx, MOST_PROJECTS + 1)
  const ready = await countReady(ctx, projects)
  const shown = projects
    .slice(0, MOST_PROJECTS)
    .map(({ id, key, name }) => ({ key, name, n: ready.get(id) ?? 0 }))
    .sort((a, b) => b.n - a.n)
  return {
    title: 'Projects',
    share: 4,
    lines: [
      ...(shown.length > 0 ? ['get_context with project returns the brief of one.'] : []),
      ...shown.map(
        ({ key, name, n }) => `- ${key} ${quoteText(name, 30)}: ${n === MOST_COUNTED ? `${n} or more` : n} ready`,
      ),
      ...(projects.length > MOST_PROJECTS ? ['and more: list_projects'] : []),
    ],
  }
}
