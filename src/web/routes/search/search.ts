import { type SearchName, searchNames } from '../../../records/names.ts'

/** The query of the page, as its address has it. */
export interface SearchPageQuery {
  q?: string
  /** Default: by words. */
  by?: 'meaning'
  kind?: SearchName
}

const isKind = (value: unknown): value is SearchName => searchNames.some((name) => name === value)

export const parseSearchPageQuery = ({ q, by, kind }: Record<string, unknown>): SearchPageQuery => ({
  ...((typeof q === 'string' || typeof q === 'number') && q !== '' && { q: String(q) }),
  ...(by === 'meaning' && { by }),
  ...(isKind(kind) && { kind }),
})
