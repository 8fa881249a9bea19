/** Finds tasks that may be about the same work as one that is about to be created. */
import { type Ctx, read } from '../../../action.ts'
import { member } from '../../../auth/policy.ts'
import { rightsOf } from '../../../auth/rights.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { and } from '../../../db/conditions.ts'
import { shareOfPairs } from '../../../text/similarity.ts'
import { projectFilter } from '../../projects/current.ts'
import { embedQuery, searchHybrid } from '../../search/hybrid.ts'
import { selectItems, toItem, visibleTo } from '../rows.ts'
import type { TaskItem } from '../schema.ts'
import { tasks } from '../table.ts'
import type { SimilarQuery, SimilarTask, SimilarTasks } from './similar-schema.ts'

const MOST = 3
const LOWEST_SCORE = 0.6
/** Search ranks by all words of a task. More tasks are compared by title, because the best title may not be first. */
const COMPARED = 20

/**
 * The score is the similarity of meaning, or that of the letters of both titles if it is higher. Without embeddings, it
 * is that of the letters alone.
 */
export const listSimilar = read(
  'tasks.listSimilar',
  member('tasks:read'),
  async (ctx, { title, project }: SimilarQuery): Promise<SimilarTasks> => {
    const projectId = await projectFilter(ctx, { projectId: project })
    const asked = await embedQuery(ctx, title)
    const hits = await searchHybrid(
      ctx,
      { text: title, kinds: ['task'], limit: COMPARED, ...(projectId && { projectId }) },
      asked,
    )
    const meanings = new Map(hits.map(({ recordId, meaning }) => [recordId, meaning ?? 0]))
    const items = (await readItems(ctx, [...meanings.keys()]))
      .map((item) => toSimilar(item, Math.max(meanings.get(item.id) ?? 0, shareOfPairs(title, item.title))))
      .filter(({ score }) => score >= LOWEST_SCORE)
      .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
    return { items: items.slice(0, MOST) }
  },
)

const toSimilar = ({ id, key, title, status }: TaskItem, score: number): SimilarTask => ({
  id,
  key,
  title,
  status,
  score: Math.min(1, Math.round(score * 100) / 100),
})

/** Search follows changes with a delay of about a second, so the tasks themselves are read. */
async function readItems(ctx: Ctx, ids: readonly string[]): Promise<TaskItem[]> {
  if (ids.length === 0) return []
  const rows = await selectItems(ctx).where(and(anyOf(tasks.id, idList(ids)), visibleTo(rightsOf(ctx.actor))))
  return rows.map((row) => toItem(row, ctx.now))
}
