import { AppError } from '../../../src/errors.ts'
import { parseSearchQuery, type QueryFilter, type TaskCondition } from '../../../src/records/query-filters.ts'
import { isClosed } from '../../../src/records/task-states.ts'
import type { Row } from '../mutation.ts'
import { asList, asText, type CopyView } from './copy-view.ts'
import { openBlockers } from './task-dependencies.ts'

type Test = (entity: string, row: Row) => boolean

interface LocalQuery {
  words: string
  /** The filters that the query contains. */
  filters: QueryFilter[]
  isMatch: Test
}

/** Separates the filters of a query from its words, like the server. A filter with an unknown name counts as words. */
export function understandQuery(world: CopyView, q: string): LocalQuery {
  const { words, filters } = parseSearchQuery(q)
  const tests = filters.map((filter) => ({ filter, test: testOf(world, filter) }))
  const known = tests.flatMap(({ filter, test }) => (test ? { filter, test } : []))
  return {
    words: [words, ...tests.flatMap(({ filter, test }) => (test ? [] : filter.text))].filter(Boolean).join(' '),
    filters: known.map(({ filter }) => filter),
    isMatch: (entity, row) =>
      known.every(({ filter, test }) => canHave(entity, filter) && test(entity, row) !== (filter.not ?? false)),
  }
}

/** Only tasks have a state and an assignee. */
const canHave = (entity: string, { key }: QueryFilter): boolean =>
  key === 'label' || key === 'project' || entity === 'task'

/** Returns undefined for a filter with an unknown name. */
function testOf(world: CopyView, { key, values }: QueryFilter): Test | undefined {
  if (key === 'label') {
    const wanted = values.map((value) => value.toLowerCase())
    return (_, { labels, tags }) => asList(labels ?? tags).some((label) => wanted.includes(label.toLowerCase()))
  }
  if (key === 'status') return (_, row) => values.includes(statusOf(row))
  if (key === 'is') return (_, row) => values.some((value) => conditions[value as TaskCondition](world, row))
  const ids = values.map((value) => (key === 'project' ? findProjectId(world, value) : findAssigneeId(world, value)))
  if (ids.includes(undefined)) return undefined
  return key === 'project'
    ? (_, row) => ids.includes(asText(row.projectId)) || ids.includes(row.id)
    : (_, row) => ids.includes((row.assigneeId as string | undefined) ?? null)
}

const statusOf = ({ status }: Row): string => asText(status ?? 'todo')

const conditions: Record<TaskCondition, (world: CopyView, row: Row) => boolean> = {
  open: (_, row) => !isClosed(statusOf(row)),
  done: (_, row) => statusOf(row) === 'done',
  blocked: (world, row) =>
    statusOf(row) === 'blocked' || (!isClosed(statusOf(row)) && openBlockers(world, row).length > 0),
  ready: (world, row) => statusOf(row) === 'todo' && openBlockers(world, row).length === 0,
  mine: ({ person }, row) => row.assigneeId === person.id,
}

function findProjectId(world: CopyView, ref: string): string | undefined {
  try {
    return world.project(ref).id
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}

/** Other people's names are not in the copy. Null: no one. */
function findAssigneeId(world: CopyView, value: string): string | null | undefined {
  const name = value.toLowerCase()
  const { id, email, name: own } = world.person
  if (name === 'none') return null
  if (['me', id, email.toLowerCase()].includes(name) || own.toLowerCase().startsWith(name)) return id
  const isNamed = ({ id, slug, name: known }: Row) =>
    id === name || slug === name || asText(known).toLowerCase().startsWith(name)
  return world.all('agent').find(isNamed)?.id
}
