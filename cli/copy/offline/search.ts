import type { Found, FoundGroup, FoundGroups } from '../../../src/features/search/schema.ts'
import { kindInfo, type SearchName, searchNames } from '../../../src/records/names.ts'
import { around, pieces } from '../../../src/text/highlight.ts'
import { finder, type Span } from '../../../src/text/search-query.ts'
import type { Found as Hit } from '../copy.ts'
import { expressionOf, wordsOf } from '../texts.ts'
import { keyOf } from './task-key.ts'
import { type LocalCall, route, text, textOrNull, type World } from './world.ts'

const EACH = 10

function found(world: World, { entity, row, rank }: Hit, spansIn: (text: string) => Span[]): Found {
  const kind = entity as SearchName
  const words = wordsOf(entity, row) ?? { title: '', text: '' }
  return {
    kind,
    id: row.id,
    title: words.title,
    path: `/api${kindInfo(kind).path ?? ''}/${row.id}`,
    organizationId: textOrNull(row.organizationId),
    projectId: textOrNull(row.projectId),
    key: entity === 'task' ? keyOf(world, row) : textOrNull(row.slug),
    status: textOrNull(row.status),
    updatedAt: text(row.updatedAt),
    score: -rank,
    highlight: {
      title: pieces(words.title, spansIn(words.title)),
      text: words.text ? around(words.text, spansIn(words.text), {}) : [],
    },
  }
}

/** Searches the copy by words, grouped by kind like the server's search. */
function search({ world, query }: LocalCall): FoundGroups {
  const typed = query.get('q') ?? ''
  const expression = expressionOf(typed)
  const projectId = world.projectId(query.get('projectId'))
  const kinds = query.get('kinds')?.split(',') ?? [...searchNames]
  const limit = Number(query.get('limit') ?? EACH)
  const hits = (expression === undefined ? [] : world.copy.search(expression, kinds)).filter(
    ({ row }) => world.isHere(row) && (projectId === undefined || row.projectId === projectId || row.id === projectId),
  )
  const spansIn = finder(typed)
  const groups = Map.groupBy(hits, ({ entity }) => entity)
  const items = [...groups].map(
    ([kind, some]): FoundGroup => ({
      kind: kind as SearchName,
      total: some.length,
      items: some.slice(0, limit).map((hit) => found(world, hit, spansIn)),
    }),
  )
  return { items, nextCursor: null }
}

export const searchRoutes = [route('GET', '/api/search', search)]
