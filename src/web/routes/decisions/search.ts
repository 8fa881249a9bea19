import type { DecisionItem } from '../../../features/decisions/schema.ts'
import { choiceIn, textIn } from '../../address.ts'
import { statusNames } from './words.ts'

export interface DecisionSearch {
  q?: string | undefined
  status?: DecisionItem['status'] | undefined
  /** The slug of a project. */
  project?: string | undefined
}

export const decisionSearch = (search: Record<string, unknown>): DecisionSearch => ({
  q: textIn(search.q),
  status: choiceIn(statusNames, search.status),
  project: textIn(search.project),
})
