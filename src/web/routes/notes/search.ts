import type { Scope } from '../../../records/scopes.ts'

export const noteScopes = ['personal', 'team', 'public'] as const satisfies readonly Scope[]

/** The query of the page, as its address has it. */
export interface NoteSearch {
  q?: string
  tag?: string
  scope?: Scope
  /** The slug of a project. */
  project?: string
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

export const noteSearch = ({ q, tag, scope, project }: Record<string, unknown>): NoteSearch => ({
  ...(isText(q) && { q }),
  ...(isText(tag) && { tag }),
  ...(noteScopes.includes(scope as Scope) && { scope: scope as Scope }),
  ...(isText(project) && { project }),
})
