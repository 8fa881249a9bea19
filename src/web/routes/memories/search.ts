import { type MemoryScope, memoryScopes } from '../../../records/names.ts'

/** Changed within so many days. */
export const ages = [1, 7, 30, 90] as const
export const sorts = ['importance', 'createdAt'] as const

/** The query of the page, as its address has it. */
export interface MemorySearch {
  /** Searched by meaning and words; without it the memories are listed. */
  q?: string
  scope?: MemoryScope
  scopeId?: string
  tag?: string
  age?: (typeof ages)[number]
  /** Also those that have expired or were superseded. */
  old?: true
  /** Default: last changed first. */
  sort?: (typeof sorts)[number]
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const among = <T>(list: readonly T[], value: unknown): T | undefined => list.find((one) => one === value)

export function memorySearch(search: Record<string, unknown>): MemorySearch {
  const { q, scopeId, tag, old } = search
  const scope = among(memoryScopes, search.scope)
  const age = among(ages, search.age)
  const sort = among(sorts, search.sort)
  return {
    ...(isText(q) && { q }),
    ...(scope && { scope }),
    ...(scope && isText(scopeId) && { scopeId }),
    ...(isText(tag) && { tag }),
    ...(age && { age }),
    ...(old === true && { old }),
    ...(sort && { sort }),
  }
}

export const noFilter: MemorySearch = {
  q: undefined,
  scope: undefined,
  scopeId: undefined,
  tag: undefined,
  age: undefined,
  old: undefined,
}

export const hasNoFilter = ({ q, scope, tag, age }: MemorySearch): boolean => !(q || scope || tag || age)
