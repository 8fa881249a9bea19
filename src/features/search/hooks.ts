import { hook } from '../../hooks.ts'
import type { SearchName } from '../../records/names.ts'

/** A title with the words that is not in a record itself, but belongs to it, such as that of its pull request. */
export interface RelatedTitle {
  kind: SearchName
  recordId: string
  /** What has the title: "Pull request". */
  of: string
  title: string
  /** The title with marks around the matches (`markMatches`). */
  marked: string
}

export interface RelatedQuery {
  words: string
  /** The kinds of records that the search may find. */
  kinds: readonly SearchName[]
  /** Default: all projects. */
  projectId: string | undefined
}

/** Returns the records that the words of a search query find by a related title. */
export const relatedTitles = hook<RelatedQuery, RelatedTitle[]>('search.relatedTitles')
