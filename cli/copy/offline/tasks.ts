import { openCriteria, tickAccepted, toCriteria } from '../../../src/features/tasks/acceptance/acceptance.ts'
import { withNotes } from '../../../src/features/tasks/acceptance/completion-notes.ts'
import type { CompletedMany, CreatedMany } from '../../../src/features/tasks/many/many-schema.ts'
import type {
  Acceptance,
  Accepted,
  TaskChanged,
  TaskComplete,
  TaskCompleted,
} from '../../../src/features/tasks/schema.ts'
import { changeLabels, isClosed, type LabelChange } from '../../../src/records/task-states.ts'
import { instantOf, splitList } from '../../../src/schema.ts'
import type { Fields, Row } from '../mutation.ts'
import {
  asList,
  asText,
  asTextOrNull,
  type CopyView,
  hasWords,
  type LocalCall,
  needsServer,
  pageRows,
  route,
} from './copy-view.ts'
import { allBlockers, openBlockers, setBlockers } from './task-dependencies.ts'
import { taskDetail, taskItem, toComment, toTask } from './task-shape.ts'

const PATH = '/api/tasks'

function findTask(world: CopyView, ref: string): Row {
  const [, project, number] = /^([a-z][a-z\d]*)-(\d+)$/i.exec(ref.trim()) ?? []
  return world.find(
    'task',
    ref,
    (row) =>
      number !== undefined &&
      row.number === Number(number) &&
      asText(world.copy.find('project', asText(row.projectId))?.key).toLowerCase() === project?.toLowerCase(),
  )
}
const findCalledTask = ({ world, params: [ref = ''] }: LocalCall): Row => findTask(world, ref)

function resolveAssignee(world: CopyView, who: unknown): Fields {
  if (who === null) return { assigneeId: null }
  const name = asText(who).toLowerCase()
  if (name === 'me' || name === world.person.email.toLowerCase() || name === world.person.id)
    return { assigneeId: world.person.id }
  const agent = world.all('agent').find(({ id, slug }) => id === name || slug === name)
  if (!agent) throw needsServer(`Other people's accounts are not in the copy, so ${asText(who)} cannot be assigned`)
  return { assigneeId: agent.id }
}

/** Reads the changes of labels from a body that no schema has checked. */
const labelChange = ({ labels, addLabels, removeLabels }: Fields): LabelChange => ({
  ...(labels ? { labels: asList(labels) } : {}),
  addLabels: asList(addLabels),
  removeLabels: asList(removeLabels),
})

/** Converts the body of a request to fields of the record. */
function fieldsOf(world: CopyView, body: Fields, before?: Row): Fields {
  const { title, description, priority, dueAt, estimate, storyId, parentId, status } = body
  const labels =
    body.addLabels || body.removeLabels ? changeLabels(asList(before?.labels), labelChange(body)) : body.labels
  if (body.after !== undefined) throw needsServer('Tasks cannot be reordered')
  const acceptance =
    body.acceptance && toCriteria(asList<string | Acceptance>(body.acceptance), asList(before?.acceptance))
  const marked = tickAccepted(asList(acceptance ?? before?.acceptance), body.accepted as Accepted | undefined)
  return {
    title,
    description,
    priority,
    labels,
    dueAt,
    estimate,
    storyId,
    parentId,
    status,
    acceptance: body.accepted === undefined ? acceptance : marked,
    ...(body.assignee !== undefined && resolveAssignee(world, body.assignee)),
  }
}

function createTask(world: CopyView, project: Row, body: Fields): Row {
  const { id: projectId, organizationId } = project
  return world.create('task', { organizationId, projectId, ...fieldsOf(world, body) })
}

/** Queues what blocks a task, if the body says so. New tasks may be named by their titles. */
function setBlockersFrom(world: CopyView, task: Row, body: Fields, made: readonly Row[] = []): void {
  const { addBlockedBy, removeBlockedBy } = body
  const changed = [addBlockedBy, removeBlockedBy].some((list) => list !== undefined)
  const blockedBy = body.blockedBy ?? (changed ? allBlockers(world, task) : undefined)
  if (blockedBy === undefined) return
  const byTitle = (ref: string) => made.find(({ title }) => asText(title).toLowerCase() === ref.trim().toLowerCase())
  const refs = [...asList<string>(blockedBy), ...asList<string>(addBlockedBy)].filter((ref) => ref !== HIDDEN)
  const removed = new Set(asList<string>(removeBlockedBy).map((ref) => findTask(world, ref).id))
  setBlockers(
    world,
    task,
    refs.map((ref) => byTitle(ref) ?? findTask(world, ref)).filter(({ id }) => !removed.has(id)),
  )
}
/** The server's placeholder for blockers that the reader has no access to. */
const HIDDEN = 'hidden'

const createComment = (world: CopyView, task: Row, body: unknown, asks?: unknown): Row =>
  world.create('comment', { taskId: task.id, body, ...(asks === true && { asks }) })

function completeTask(world: CopyView, ref: string, { notes, evidence, accepted, force }: TaskComplete): TaskChanged {
  if (force) throw needsServer('A blocked task cannot be completed')
  const before = findTask(world, ref)
  const after = world.update('task', before.id, {
    status: 'done',
    completionNotes: withNotes(asTextOrNull(before.completionNotes), { notes, evidence }),
    ...(accepted !== undefined && { acceptance: tickAccepted(asList(before.acceptance), accepted) }),
  })
  const open = openCriteria(asList(after.acceptance))
  return { ...toChanged(world, after), ...(open.length > 0 && { openCriteria: open }) }
}

/** Which tasks a change frees or blocks is decided by the server. */
const toChanged = (world: CopyView, row: Row): TaskChanged => ({ ...toTask(world, row), freed: [], blocked: [] })

const claimError = () => needsServer('Tasks cannot be claimed')

/** Returns the ids that the filter `assignee` names; null means unassigned. */
const assigneesIn = (world: CopyView, parts: readonly string[]): unknown[] =>
  parts.map((who) => (who.toLowerCase() === 'none' ? null : resolveAssignee(world, who).assigneeId))

/**
 * Returns whether a task with these values matches a filter such as `todo,done` or `!docs`. A label may contain a
 * comma, so the whole text counts as a value too.
 */
function matchFilter(
  list: string | null,
  valuesOf: (parts: string[]) => unknown[] = (parts) => parts,
): (values: readonly unknown[]) => boolean {
  if (!list) return () => true
  const isNot = list.startsWith('!')
  const parts = splitList<string>(list).map((part) => (isNot ? part.replace(/^!/, '') : part))
  const wanted = new Set<unknown>([...valuesOf(parts), isNot ? list.slice(1) : list])
  return (values) => values.some((value) => wanted.has(value)) !== isNot
}

const listTasks = ({ world, query }: LocalCall): object => {
  const get = (name: string) => query.get(name)
  if (get('holder') || get('leased')) throw needsServer('Tasks cannot be filtered by who holds them')
  if (get('group')) throw needsServer('Tasks cannot be grouped')
  const [isStatus, isLevel] = [matchFilter(get('status')), matchFilter(get('priority'))]
  const isLabelled = matchFilter(get('label'))
  const projectId = world.projectId(get('projectId'))
  const isAssigned = matchFilter(get('assignee'), (who) => assigneesIn(world, who))
  const updatedAfter = get('updatedAfter') && instantOf(get('updatedAfter') ?? '', new Date().toISOString())
  const inEpic = epicFilter(world, get('epicId'))
  const rows = world.all('task').filter((row) => {
    const status = asText(row.status ?? 'todo')
    if (get('open') === 'true' && isClosed(status)) return false
    if (!isStatus([status])) return false
    if (get('ready') === 'true' && (status !== 'todo' || openBlockers(world, row).length > 0)) return false
    if (!isLevel([asText(row.priority ?? 'medium')])) return false
    for (const name of ['storyId', 'parentId']) if (get(name) && (row[name] ?? null) !== get(name)) return false
    if (projectId !== undefined && row.projectId !== projectId) return false
    if (!isAssigned([row.assigneeId ?? null]) || !isLabelled(asList(row.labels))) return false
    if (updatedAfter && asText(row.updatedAt) < updatedAfter) return false
    return (
      inEpic(row) &&
      isDue(row, get('dueBefore'), get('dueAfter')) &&
      hasWords(get('search'), row.title, row.description)
    )
  })
  return pageRows(rows, query, (row) => taskItem(world, row))
}

const epicFilter = (world: CopyView, epicId: string | null): ((row: Row) => boolean) => {
  if (!epicId) return () => true
  const stories = new Set(world.all('story').flatMap((story) => (story.epicId === epicId ? [story.id] : [])))
  return ({ storyId }) => stories.has(asText(storyId))
}

const isDue = ({ dueAt }: Row, before: string | null, after: string | null): boolean =>
  (!before || (dueAt != null && asText(dueAt) < before)) && (!after || (dueAt != null && asText(dueAt) >= after))

export const taskRoutes = [
  route('GET', PATH, listTasks),
  route('GET', `${PATH}/:id`, (call) => taskDetail(call.world, findCalledTask(call))),
  route('POST', '/api/projects/:slug/tasks', ({ world, params: [slug = ''], body }) => {
    const task = createTask(world, world.project(slug), body)
    setBlockersFrom(world, task, body)
    return toTask(world, task)
  }),
  route('POST', '/api/projects/:slug/tasks/batch', ({ world, params: [slug = ''], body }): CreatedMany => {
    const project = world.project(slug)
    const parentId = body.parent === undefined ? undefined : findTask(world, asText(body.parent)).id
    const wanted = asList<Fields>(body.tasks)
    const items = wanted.map((one) => createTask(world, project, { parentId, ...one }))
    for (const [i, one] of wanted.entries()) setBlockersFrom(world, items[i] as Row, one, items)
    return { items: items.map((row) => toTask(world, row)) }
  }),
  route('PATCH', `${PATH}/:id`, (call) => {
    const { world, body } = call
    if (body.evidence !== undefined) throw needsServer('Evidence cannot be added to an open task')
    const before = findCalledTask(call)
    const after = world.update('task', before.id, fieldsOf(world, body, before))
    setBlockersFrom(world, after, body)
    if (body.comment !== undefined) createComment(world, after, body.comment, body.asks)
    return toChanged(world, after)
  }),
  route('POST', `${PATH}/:id/comments`, (call) =>
    toComment(call.world, createComment(call.world, findCalledTask(call), call.body.body, call.body.asks)),
  ),
  route('POST', `${PATH}/complete`, ({ world, body }): CompletedMany => {
    const { tasks, claimNext, ...shared } = body as TaskComplete & Fields
    if (claimNext) throw claimError()
    const each = asList<string | { task: string }>(tasks).map((one) => (typeof one === 'string' ? { task: one } : one))
    return { items: each.map(({ task, ...own }) => completeTask(world, task, { ...shared, ...own })), next: null }
  }),
  route('POST', `${PATH}/:id/complete`, ({ world, params: [ref = ''], body }): TaskCompleted => {
    const { claimNext, ...how } = body as TaskComplete
    if (claimNext) throw claimError()
    return { ...completeTask(world, ref, how), next: null }
  }),
  ...['/next', '/:id/claim', '/:id/release'].map((path) =>
    route('POST', PATH + path, () => {
      throw claimError()
    }),
  ),
  route('DELETE', `${PATH}/:id`, (call) => {
    const { world } = call
    const { id } = findCalledTask(call)
    // Without their task, the server would reject unsent comments and dependencies.
    for (const entity of ['comment', 'dependency'])
      for (const { id: own } of world.copy.list(entity, "? in (r ->> 'taskId', r ->> 'blockedById')", id))
        if (world.copy.isUnsent(entity, own)) world.remove(entity, own)
    world.remove('task', id)
    return { id, deleted: true }
  }),
]
