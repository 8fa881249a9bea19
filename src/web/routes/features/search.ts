import { textIn } from '../../address.ts'

export interface FeatureSearch {
  q?: string | undefined
}

export const featureSearch = (search: Record<string, unknown>): FeatureSearch => ({ q: textIn(search.q) })
