import type { FeatureItem } from '../../../features/workflow/schema.ts'
import { choiceParam, textParam } from '../../lib/search-params.ts'
import { words } from './words.ts'

export interface FeatureSearch {
  q?: string | undefined
  /** `me`, `none`, or the id of a person or an agent. */
  assignee?: string | undefined
  kind?: FeatureItem['kind'] | undefined
  /** One state of the workflow, shown as a list. */
  status?: string | undefined
}

export const featureSearch = (search: Record<string, unknown>): FeatureSearch => ({
  q: textParam(search.q),
  assignee: textParam(search.assignee),
  kind: choiceParam(words.kinds, search.kind),
  status: textParam(search.status),
})
