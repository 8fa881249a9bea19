import type { Actor } from './actor.ts'
import { type Refusal, throwIfRefused } from './policy.ts'

/**
 * THE LIMIT OF A CREDENTIAL TO PROJECTS (`actor.projects`). Where it applies:
 * - `Rights` (auth/rights.ts): a limited credential has no `organizations`, so no query returns records of its team
 *   without a project, and `projects.visibleTo` returns only the projects of its list.
 * - `Rule.limited` (auth/policy.ts): actions that are not about records of projects refuse it.
 * - `limitRefusal` here: records are created and changed only in these projects. `action.ts` checks the events of every
 *   write once more.
 * - `isWithinLimit` here: the same for events in memory (`live/audience.ts`).
 */

/** True unless the credential is limited to other projects. Other rules decide whether the caller sees the project. */
export const isWithinLimit = ({ projects }: Pick<Actor, 'projects'>, projectId: string | null): boolean =>
  !projects || (projectId !== null && projects.includes(projectId))

/** Returns why the credential has no access to records of this project (or without one); undefined if it has. */
export const limitRefusal = (actor: Actor, projectId: string | null | undefined, what: string): Refusal | undefined =>
  isWithinLimit(actor, projectId ?? null)
    ? undefined
    : {
        code: 'forbidden',
        detail: `${what} needs a project: this credential is limited to projects, so name one of them.`,
        details: { next: [{ tool: 'list_projects', route: 'GET /api/projects', command: 'tutti projects list' }] },
      }

export const requireWithinLimit = (actor: Actor, projectId: string | null | undefined, what: string): void =>
  throwIfRefused(limitRefusal(actor, projectId, what))

/** Returns the projects that both credentials can access. */
export function commonLimit(a: Actor, b: Actor): Pick<Actor, 'projects'> {
  const limits = [a.projects, b.projects].filter((projects) => projects !== undefined)
  const [first, ...others] = limits
  return first ? { projects: first.filter((id) => others.every((projects) => projects.includes(id))) } : {}
}
