import type { SpecItem } from '../../../features/specs/schema.ts'
import { choiceParam, textParam } from '../../lib/search-params.ts'
import { statusNames } from './words.ts'

export interface SpecsSearch {
  q?: string | undefined
  status?: SpecItem['status'] | undefined
  /** The slug of a project. */
  project?: string | undefined
}

export const specsSearch = (search: Record<string, unknown>): SpecsSearch => ({
  q: textParam(search.q),
  status: choiceParam(statusNames, search.status),
  project: textParam(search.project),
})
