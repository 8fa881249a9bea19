import { criteria, openCriteria, ticked } from '../../../src/features/tasks/acceptance/acceptance.ts'
import { withNotes } from '../../../src/features/tasks/acceptance/completion-notes.ts'
import type { CompletedMany, CreatedMany } from '../../../src/features/tasks/many/many-schema.ts'
import type {
  Acceptance,
  Accepted,
  TaskChanged,
  TaskComplete,
  TaskCompleted,
} from '../../../src/features/tasks/schema.ts'
import { changeLabels, isClosed, type LabelChange } from '../../../src/records/work.ts'
import { inList } from '../../../src/schema.ts'
import type { Fields, Row } from '../mutation.ts'
import { commentShape, detail, item, shape } from './task-shape.ts'
import { openBlockers, setBlockers } from './task-ties.ts'
import { hasWords, type LocalCall, list, needsServer, pageOf, route, text, textOrNull, type World } from './world.ts'

const PATH = '/api/tasks'

function findTask(world: World, ref: string): Row {
  const [, project, number] = /^([a-z][a-z\d]*)-(\d+)$/i.exec(ref.trim()) ?? []
  return world.find(
    'task',
    ref,
    (row) =>
      number !== undefined &&
      row.number === Number(number) &&
      text(world.copy.find('project', text(row.projectId))?.key).toLowerCase() === project?.toLowerCase(),
  )
}
const find = ({ world, params: [ref = ''] }: LocalCall): Row => findTask(world, ref)

function assignee(world: World, who: unknown): Fields {
  if (who === null) return { assigneeId: null }
  const name = text(who).toLowerCase()
  if (name === 'me' || name === world.person.email.toLowerCase() || name === world.person.id)
    return { assigneeId: world.person.id }
  const agent = world.all('agent').find(({ id, slug }) => id === name || slug === name)
  if (!agent) throw needsServer(`Other people's accounts are not in the copy, so ${text(who)} cannot be assigned`)
  return { assigneeId: agent.id }
}

/** Converts the body of a request to fields of the record. */
function fieldsOf(world: World, body: Fields, before?: Row): Fields {
  const { title, description, priority, dueAt, estimate, storyId, parentId, status } = body
  const labels =
    body.addLabels || body.removeLabels ? changeLabels(list(before?.labels), body as LabelChange) : body.labels
  if (body.after !== undefined) throw needsServer('Tasks cannot be reordered')
  const acceptance = body.acceptance && criteria(list<string | Acceptance>(body.acceptance), list(before?.acceptance))
  const marked = ticked(list(acceptance ?? before?.acceptance), body.accepted as Accepted | undefined)
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
    ...(body.assignee !== undefined && assignee(world, body.assignee)),
  }
}

function create(world: World, project: Row, body: Fields): Row {
  const { id: projectId, organizationId } = project
  return world.create('task', { organizationId, projectId, ...fieldsOf(world, body) })
}

/** Queues what blocks a task, if the body says so. New tasks may be named by their titles. */
function block(world: World, task: Row, { blockedBy }: Fields, made: readonly Row[] = []): void {
  if (blockedBy === undefined) return
  const byTitle = (ref: string) => made.find(({ title }) => text(title).toLowerCase() === ref.trim().toLowerCase())
  const refs = list<string>(blockedBy).filter((ref) => ref !== HIDDEN)
  setBlockers(
    world,
    task,
    refs.map((ref) => byTitle(ref) ?? findTask(world, ref)),
  )
}
/** The server's placeholder for blockers that the reader has no access to. */
const HIDDEN = 'hidden'

const comment = (world: World, task: Row, body: unknown, asks?: unknown): Row =>
  world.create('comment', { taskId: task.id, body, ...(asks === true && { asks }) })

function complete(world: World, ref: string, { notes, evidence, accepted, force }: TaskComplete): TaskChanged {
  if (force) throw needsServer('A blocked task cannot be completed')
  const before = findTask(world, ref)
  const after = world.update('task', before.id, {
    status: 'done',
    completionNotes: withNotes(textOrNull(before.completionNotes), { notes, evidence }),
    ...(accepted !== undefined && { acceptance: ticked(list(before.acceptance), accepted) }),
  })
  const open = openCriteria(list(after.acceptance))
  return { ...changed(world, after), ...(open.length > 0 && { openCriteria: open }) }
}

/** Which tasks a change frees or blocks is decided by the server. */
const changed = (world: World, row: Row): TaskChanged => ({ ...shape(world, row), freed: [], blocked: [] })

const claims = () => needsServer('Tasks cannot be claimed')

/** Returns the ids that the filter `assignee` names; null means unassigned. */
const assigneesIn = (world: World, parts: readonly string[]): unknown[] =>
  parts.map((who) => (who.toLowerCase() === 'none' ? null : assignee(world, who).assigneeId))

const listed = ({ world, query }: LocalCall): object => {
  const get = (name: string) => query.get(name)
  if (get('holder') || get('leased')) throw needsServer('Tasks cannot be filtered by who holds them')
  const [states, levels, labels] = [inList(get('status')), inList(get('priority')), inList(get('label'))]
  const projectId = world.projectId(get('projectId'))
  const who = get('assignee') ? assigneesIn(world, inList(get('assignee'))) : undefined
  const inEpic = epicFilter(world, get('epicId'))
  const rows = world.all('task').filter((row) => {
    const status = text(row.status ?? 'todo')
    if (get('open') === 'true' && isClosed(status)) return false
    if (states.length > 0 && !states.includes(status)) return false
    if (get('ready') === 'true' && (status !== 'todo' || openBlockers(world, row).length > 0)) return false
    if (levels.length > 0 && !levels.includes(text(row.priority ?? 'medium'))) return false
    for (const name of ['storyId', 'parentId']) if (get(name) && (row[name] ?? null) !== get(name)) return false
    if (projectId !== undefined && row.projectId !== projectId) return false
    if (who !== undefined && !who.includes(row.assigneeId ?? null)) return false
    if (labels.length > 0 && !list(row.labels).some((label) => label === get('label') || labels.includes(label)))
      return false
    return (
      inEpic(row) &&
      isDue(row, get('dueBefore'), get('dueAfter')) &&
      hasWords(get('search'), row.title, row.description)
    )
  })
  return pageOf(rows, query, (row) => item(world, row))
}

const epicFilter = (world: World, epicId: string | null): ((row: Row) => boolean) => {
  if (!epicId) return () => true
  const stories = new Set(world.all('story').flatMap((story) => (story.epicId === epicId ? [story.id] : [])))
  return ({ storyId }) => stories.has(text(storyId))
}

const isDue = ({ dueAt }: Row, before: string | null, after: string | null): boolean =>
  (!before || (dueAt != null && text(dueAt) < before)) && (!after || (dueAt != null && text(dueAt) >= after))

export const taskRoutes = [
  route('GET', PATH, listed),
  route('GET', `${PATH}/:id`, (call) => detail(call.world, find(call))),
  route('POST', '/api/projects/:slug/tasks', ({ world, params: [slug = ''], body }) => {
    const task = create(world, world.project(slug), body)
    block(world, task, body)
    return shape(world, task)
  }),
  route('POST', '/api/projects/:slug/tasks/batch', ({ world, params: [slug = ''], body }): CreatedMany => {
    const project = world.project(slug)
    const parentId = body.parent === undefined ? undefined : findTask(world, text(body.parent)).id
    const wanted = list<Fields>(body.tasks)
    const items = wanted.map((one) => create(world, project, { parentId, ...one }))
    for (const [i, one] of wanted.entries()) block(world, items[i] as Row, one, items)
    return { items: items.map((row) => shape(world, row)) }
  }),
  route('PATCH', `${PATH}/:id`, (call) => {
    const { world, body } = call
    if (body.evidence !== undefined) throw needsServer('Evidence cannot be added to an open task')
    const before = find(call)
    const after = world.update('task', before.id, fieldsOf(world, body, before))
    block(world, after, body)
    if (body.comment !== undefined) comment(world, after, body.comment, body.asks)
    return changed(world, after)
  }),
  route('POST', `${PATH}/:id/comments`, (call) =>
    commentShape(call.world, comment(call.world, find(call), call.body.body, call.body.asks)),
  ),
  route('POST', `${PATH}/complete`, ({ world, body }): CompletedMany => {
    const { tasks, claimNext, ...shared } = body as TaskComplete & Fields
    if (claimNext) throw claims()
    const each = list<string | { task: string }>(tasks).map((one) => (typeof one === 'string' ? { task: one } : one))
    return { items: each.map(({ task, ...own }) => complete(world, task, { ...shared, ...own })), next: null }
  }),
  route('POST', `${PATH}/:id/complete`, ({ world, params: [ref = ''], body }): TaskCompleted => {
    const { claimNext, ...how } = body as TaskComplete
    if (claimNext) throw claims()
    return { ...complete(world, ref, how), next: null }
  }),
  ...['/next', '/:id/claim', '/:id/release'].map((path) =>
    route('POST', PATH + path, () => {
      throw claims()
    }),
  ),
  route('DELETE', `${PATH}/:id`, (call) => {
    const { world } = call
    const { id } = find(call)
    // Without their task, the server would reject unsent comments and dependencies.
    for (const entity of ['comment', 'dependency'])
      for (const { id: own } of world.copy.list(entity, "? in (r ->> 'taskId', r ->> 'blockedById')", id))
        if (world.copy.isUnsent(entity, own)) world.remove(entity, own)
    world.remove('task', id)
    return { id, deleted: true }
  }),
]
