import type { SkillItem } from '../../../features/skills/schema.ts'
import { choiceParam, textParam } from '../../lib/search-params.ts'
import { scopeNames } from './words.ts'

export interface SkillSearch {
  q?: string | undefined
  scope?: SkillItem['scope'] | undefined
}

export const skillSearch = (search: Record<string, unknown>): SkillSearch => ({
  q: textParam(search.q),
  scope: choiceParam(scopeNames, search.scope),
})
