import type { Ctx } from '../../action.ts'
import { organizationsOf, seesPersonal } from '../../auth/actor.ts'
import { scopeHolds } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import type { Container, SyncEntity } from '../../records/sync.ts'
import { visibleTo } from '../projects/rows.ts'
import { projects } from '../projects/table.ts'

/** Returns the containers whose records the caller sees, sorted. */
export async function containersOf(ctx: Ctx): Promise<Container[]> {
  const { actor } = ctx
  const seen = await ctx.db
    .select({ id: projects.id })
    .from(projects)
    .where(visibleTo(rightsOf(actor)))
  const own: Container[] = actor.userId && seesPersonal(actor) ? [`user:${actor.userId}`] : []
  return [
    ...organizationsOf(actor).map((id): Container => `organization:${id}`),
    ...seen.map(({ id }): Container => `project:${id}`),
    ...own,
  ].sort()
}

/** Returns the entities that the credential's scopes allow to read. */
export const readableBy = ({ app, actor }: Ctx): SyncEntity<Ctx>[] =>
  app.records.synced.filter(({ scope }) => scopeHolds(actor.scopes, scope))

/** The containers by type, as lists for SQL. */
export function idsIn(containers: Iterable<Container>, type: 'project' | 'organization' | 'user'): string {
  const start = `${type}:`
  const ids: string[] = []
  for (const container of containers) if (container.startsWith(start)) ids.push(container.slice(start.length))
  return `{${ids.join(',')}}`
}
