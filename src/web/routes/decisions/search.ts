import type { DecisionItem } from '../../../features/decisions/schema.ts'
import { choiceParam, textParam } from '../../lib/search-params.ts'
import { statusNames } from './words.ts'

export interface DecisionSearch {
  q?: string | undefined
  status?: DecisionItem['status'] | undefined
  /** The slug of a project. */
  project?: string | undefined
}

export const decisionSearch = (search: Record<string, unknown>): DecisionSearch => ({
  q: textParam(search.q),
  status: choiceParam(statusNames, search.status),
  project: textParam(search.project),
})
