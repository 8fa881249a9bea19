import type { Found, FoundGroup, FoundGroups } from '../../../src/features/search/schema.ts'
import { kindInfo, type SearchName, searchNames } from '../../../src/records/names.ts'
import { excerptAround, splitMatches } from '../../../src/text/highlight.ts'
import { matchFinder, type Span } from '../../../src/text/search-query.ts'
import type { SearchHit as Hit } from '../copy.ts'
import { ftsExpression, searchTexts } from '../texts.ts'
import { asText, asTextOrNull, type CopyView, type LocalCall, route } from './copy-view.ts'
import { understandQuery } from './query-filters.ts'
import { taskKey } from './task-key.ts'

const EACH = 10

function toHit(world: CopyView, { entity, row, rank }: Hit, spansIn: (text: string) => Span[]): Found {
  const kind = entity as SearchName
  const words = searchTexts(entity, row) ?? { title: '', text: '' }
  return {
    kind,
    id: row.id,
    title: words.title,
    path: `/api${kindInfo(kind).path ?? ''}/${row.id}`,
    organizationId: asTextOrNull(row.organizationId),
    projectId: asTextOrNull(row.projectId),
    key: entity === 'task' ? taskKey(world, row) : asTextOrNull(row.slug),
    status: asTextOrNull(row.status),
    updatedAt: asText(row.updatedAt),
    score: -rank,
    highlight: {
      title: splitMatches(words.title, spansIn(words.title)),
      text: words.text ? excerptAround(words.text, spansIn(words.text), {}) : [],
    },
  }
}

/** Searches the copy by words and filters, grouped by kind like the server's search. */
function searchCopy({ world, query }: LocalCall): FoundGroups {
  const { words, filters, isMatch } = understandQuery(world, (query.get('q') ?? '').trim())
  const expression = ftsExpression(words)
  const projectId = world.projectId(query.get('projectId'))
  const kinds = query.get('kinds')?.split(',') ?? [...searchNames]
  const limit = Number(query.get('limit') ?? EACH)
  const found = expression === undefined ? [] : world.copy.search(expression, kinds)
  const hits = (words === '' && filters.length > 0 ? newestFirst(world, kinds) : found).filter(
    ({ entity, row }) =>
      world.isHere(row) &&
      (projectId === undefined || row.projectId === projectId || row.id === projectId) &&
      isMatch(entity, row),
  )
  const spansIn = matchFinder(words)
  const groups = Map.groupBy(hits, ({ entity }) => entity)
  const items = [...groups].map(
    ([kind, some]): FoundGroup => ({
      kind: kind as SearchName,
      total: some.length,
      items: some.slice(0, limit).map((hit) => toHit(world, hit, spansIn)),
    }),
  )
  return { items, nextCursor: null, ...(filters.length > 0 && { filters }) }
}

const newestFirst = (world: CopyView, kinds: readonly string[]): Hit[] =>
  kinds
    .flatMap((entity) => world.all(entity).map((row) => ({ entity, row, rank: 0 })))
    .sort((a, b) => (asText(a.row.updatedAt) < asText(b.row.updatedAt) ? 1 : -1))

export const searchRoutes = [route('GET', '/api/search', searchCopy)]
