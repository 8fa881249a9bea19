import { affectedActors } from '../auth/authenticate.ts'
import type { Driver } from '../db/driver.ts'
import type { EventCatalogue } from '../events/catalogue.ts'
import type { AppEvent } from '../events/event.ts'

/** The columns that decide who sees a project. */
export interface ProjectAccess {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string | null
  readonly visibility: string
  readonly createdById: string | null
}

const MOST = 10_000

/** Caches who can see each project, as of the last event that this instance has processed. */
export class KnownProjects {
  /** Null: there is no such project, or it was deleted. */
  readonly #known = new Map<string, ProjectAccess | null>()
  /** Counts changes, so that a result read before a change is not stored after it. */
  #changes = 0

  constructor(
    private readonly driver: Driver,
    private readonly events: EventCatalogue,
  ) {}

  /** Returns a project that `load` has read. */
  get(id: string): ProjectAccess | undefined {
    return this.#known.get(id) ?? undefined
  }

  /** Forgets what the event may have changed. */
  forget(event: AppEvent): void {
    if (this.events.get(event.type)?.changes === 'visibility') {
      this.#changes++
      if (event.subjectId) this.#known.delete(event.subjectId)
    }
    // A team or a workspace changed, so its projects may have left it. Events about one user change no project.
    const changed = affectedActors(this.events, event)
    if (!changed || typeof event.data.userId === 'string' || event.userId) return
    this.clear()
  }

  clear(): void {
    this.#changes++
    this.#known.clear()
  }

  /** Returns true if all projects are cached; an event may have removed one since `load`. */
  knows(ids: readonly (string | null)[]): boolean {
    return ids.every((id) => id === null || this.#known.has(id))
  }

  /** Reads the projects that are not cached. */
  async load(ids: Iterable<string | null>): Promise<void> {
    for (;;) {
      const missing = [...new Set(ids)].filter((id) => id !== null && !this.#known.has(id))
      if (missing.length === 0) return
      const changes = this.#changes
      const { rows } = await this.driver.query(
        `select id, organization_id, workspace_id, visibility, created_by_id from projects
        where id = any($1::uuid[]) and deleted_at is null`,
        [`{${missing.join(',')}}`],
      )
      if (changes !== this.#changes) continue
      if (this.#known.size > MOST) this.#known.clear()
      for (const id of missing) this.#known.set(id as string, null)
      for (const [id, organizationId, workspaceId, visibility, createdById] of rows as string[][])
        this.#known.set(id as string, { id, organizationId, workspaceId, visibility, createdById } as ProjectAccess)
    }
  }
}
