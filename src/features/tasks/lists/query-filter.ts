import { eq, isNull, type SQL } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { ownIds } from '../../../auth/actor.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { or } from '../../../db/conditions.ts'
import { AppError } from '../../../errors.ts'
import type { FilterMatch } from '../../../records/kind.ts'
import { openCondition } from '../../../records/open.ts'
import type { QueryFilter, TaskCondition } from '../../../records/query-filters.ts'
import { isId } from '../../../records/reference.ts'
import { agentCandidates, findAllByName, memberCandidates, type NamedCandidate } from '../../agents/names.ts'
import { findUserOrAgent } from '../../agents/users-and-agents.ts'
import { isReadyTask } from '../leases/pick-order.ts'
import { tasks } from '../table.ts'
import { hasAnyStatus } from './filters.ts'

const isAssignedTo = (ids: readonly string[]): SQL => anyOf(tasks.assigneeId, idList(ids))

const conditions: Record<TaskCondition, (ctx: Ctx) => SQL | undefined> = {
  open: () => openCondition(tasks.status, true),
  done: () => eq(tasks.status, 'done'),
  blocked: () => hasAnyStatus('blocked'),
  ready: ({ now }) => isReadyTask(now),
  mine: ({ actor }) => isAssignedTo(ownIds(actor)),
}

/** What a filter of a search query means for tasks: `is:open`, `status:todo`, `@ada`. */
export async function matchTaskFilter(ctx: Ctx, { key, values }: QueryFilter): Promise<FilterMatch | undefined> {
  if (key === 'assignee') return matchAssignee(ctx, values)
  const condition =
    key === 'status'
      ? hasAnyStatus(values.join(','))
      : or(...values.map((value) => conditions[value as TaskCondition](ctx)))
  return condition && { condition }
}

async function matchAssignee(ctx: Ctx, values: readonly string[]): Promise<FilterMatch | undefined> {
  // Loaded once for all names.
  let loaded: Promise<NamedCandidate[]> | undefined
  const candidates = (organizationId: string) => {
    loaded ??= loadCandidates(ctx, organizationId)
    return loaded
  }
  const found = await Promise.all(values.map((value) => findAssignees(ctx, value, candidates)))
  if (found.some((some) => some.length === 0)) return undefined
  const all = found.flat()
  const ids = all.flatMap(({ id }) => id ?? [])
  return {
    condition: or(isAssignedTo(ids), all.some(({ id }) => id === null) ? isNull(tasks.assigneeId) : undefined),
    names: [...new Set(all.map(({ name }) => name))],
  }
}

interface Assignee {
  /** Null for unassigned tasks. */
  id: string | null
  name: string
}

/** Finds the people and agents with this name, address or id; several may have the same first name. */
async function findAssignees(
  ctx: Ctx,
  value: string,
  candidates: (organizationId: string) => Promise<NamedCandidate[]>,
): Promise<Assignee[]> {
  const name = value.toLowerCase()
  if (name === 'none') return [{ id: null, name }]
  if (name === 'me') return ownIds(ctx.actor).map((id) => ({ id, name }))
  const { organizationId } = ctx.actor
  if (!organizationId) return []
  if (isId(value) || value.includes('@'))
    return findUserOrAgent(ctx, { organizationId, includeArchived: true }, value).then(
      (one) => [one],
      (error: unknown) => {
        if (error instanceof AppError) return []
        throw error
      },
    )
  return findAllByName(ctx, await candidates(organizationId), { organizationId, name: value })
}

const loadCandidates = async (ctx: Ctx, organizationId: string): Promise<NamedCandidate[]> => [
  ...(await memberCandidates(ctx, organizationId)),
  ...(await agentCandidates(ctx, organizationId)),
]
