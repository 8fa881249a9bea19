import { numberParam } from '../../lib/search-params.ts'

/** Which versions are compared; with `to` alone, that version is read. */
interface SpecSearch {
  from?: number | undefined
  to?: number | undefined
}

export const specSearch = (search: Record<string, unknown>): SpecSearch => ({
  from: numberParam(search.from),
  to: numberParam(search.to),
})
