/** What the address says about the feed. */
export interface ActivitySearch {
  /** The id of a person or an agent. */
  actor?: string
  /** The kind of record: `task` shows all types that begin with `task.`. */
  kind?: string
  project?: string
  who?: 'user' | 'agent'
}

export const noFilter: Partial<ActivitySearch> = {
  actor: undefined,
  kind: undefined,
  project: undefined,
  who: undefined,
}

const text = (value: unknown): value is string => typeof value === 'string' && value !== ''

export const activitySearch = ({ actor, kind, project, who }: Record<string, unknown>): ActivitySearch => ({
  ...(text(actor) && { actor }),
  ...(text(kind) && { kind }),
  ...(text(project) && { project }),
  ...((who === 'user' || who === 'agent') && { who }),
})
