import type { SpecItem } from '../../../features/specs/schema.ts'
import { choiceIn, textIn } from '../../address.ts'
import { statusNames } from './words.ts'

export interface SpecsSearch {
  q?: string | undefined
  status?: SpecItem['status'] | undefined
  /** The slug of a project. */
  project?: string | undefined
}

export const specsSearch = (search: Record<string, unknown>): SpecsSearch => ({
  q: textIn(search.q),
  status: choiceIn(statusNames, search.status),
  project: textIn(search.project),
})
