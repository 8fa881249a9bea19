import type { SkillItem } from '../../../features/skills/schema.ts'
import { choiceIn, textIn } from '../../address.ts'
import { scopeNames } from './words.ts'

export interface SkillSearch {
  q?: string | undefined
  scope?: SkillItem['scope'] | undefined
}

export const skillSearch = (search: Record<string, unknown>): SkillSearch => ({
  q: textIn(search.q),
  scope: choiceIn(scopeNames, search.scope),
})
