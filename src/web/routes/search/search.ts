import { type SearchName, searchNames } from '../../../records/names.ts'

/** The query of the page, as its address has it. */
export interface FindSearch {
  q?: string
  /** Default: by words. */
  by?: 'meaning'
  kind?: SearchName
}

const isKind = (value: unknown): value is SearchName => searchNames.some((name) => name === value)

export const findSearch = ({ q, by, kind }: Record<string, unknown>): FindSearch => ({
  ...((typeof q === 'string' || typeof q === 'number') && q !== '' && { q: String(q) }),
  ...(by === 'meaning' && { by }),
  ...(isKind(kind) && { kind }),
})
