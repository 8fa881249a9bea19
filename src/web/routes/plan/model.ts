/** The plan as rows, and what moving one does to it. */
import type { Tree, TreeEpic, TreeStory, TreeTask } from '../../../features/planning/schema.ts'
import type { Status } from '../../../records/task-states.ts'
import type { UserOrAgent } from '../../../records/user-or-agent.ts'

export type PlanKind = 'epic' | 'story' | 'task'

export interface PlanEntry {
  kind: PlanKind
  id: string
  version: number
  title: string
  status: Status
  level: number
  /** What it is in: the epic of a story, the story of a task. Null: the project itself. */
  parent: string | null
  /** The epic of a story. */
  epicId: string | null
  /** Whether what is in it is shown; undefined for tasks. */
  expanded: boolean | undefined
  all: number
  done: number
  /** How many of those were done by agents. */
  agents: number
  key?: string
  estimate?: number | null
  assignee?: UserOrAgent | null
  lease?: TreeTask['lease']
}

const counts = (tasks: readonly TreeTask[]) => {
  const counted = tasks.filter(({ status }) => status !== 'cancelled')
  const done = counted.filter(({ status }) => status === 'done')
  return { all: counted.length, done: done.length, agents: done.filter(({ byAgent }) => byAgent).length }
}

const taskEntry = (task: TreeTask, level: number, parent: string | null): PlanEntry => ({
  ...task,
  kind: 'task',
  level,
  parent,
  epicId: null,
  expanded: undefined,
  all: 0,
  done: 0,
  agents: 0,
})

/** Returns the rows that are shown: everything but what is in entries that are closed. */
export function planRows({ epics, tasks }: Tree, closed: ReadonlySet<string>): PlanEntry[] {
  const rows: PlanEntry[] = []
  for (const epic of epics) {
    const isOpen = !closed.has(epic.id)
    const inside = counts(epic.stories.flatMap((story) => story.tasks))
    rows.push({ ...epic, ...inside, kind: 'epic', level: 1, parent: null, epicId: null, expanded: isOpen })
    if (!isOpen) continue
    for (const story of epic.stories) {
      const expanded = !closed.has(story.id)
      const own = counts(story.tasks)
      rows.push({ ...story, ...own, kind: 'story', level: 2, parent: epic.id, epicId: epic.id, expanded })
      if (expanded) rows.push(...story.tasks.map((task) => taskEntry(task, 3, story.id)))
    }
  }
  return [...rows, ...tasks.map((task) => taskEntry(task, 1, null))]
}

export interface PlanMove {
  entry: PlanEntry
  /** Where it goes: the id of an epic or a story; null: directly into the project. */
  to: string | null
  /** The sibling above its new place; null: first. */
  after: string | null
}

type Node = TreeEpic | TreeStory | TreeTask

/** Returns the lists that an entry of this kind can be in, in the order of the plan. */
function containers(tree: Tree, kind: PlanKind): { id: string | null; items: readonly Node[] }[] {
  if (kind === 'epic') return [{ id: null, items: tree.epics }]
  if (kind === 'story') return tree.epics.map(({ id, stories }) => ({ id, items: stories }))
  const inStories = tree.epics.flatMap(({ stories }) => stories.map(({ id, tasks }) => ({ id, items: tasks })))
  return [...inStories, { id: null, items: tree.tasks }]
}

/** Returns the move one step up or down: past its neighbour, or into the next story or epic. */
export function stepMove(tree: Tree, entry: PlanEntry, step: -1 | 1): PlanMove | undefined {
  const all = containers(tree, entry.kind)
  const at = all.findIndex(({ id }) => id === entry.parent)
  const items = all[at]?.items ?? []
  const place = items.findIndex(({ id }) => id === entry.id)
  const next = place + step
  if (next >= 0 && next < items.length) {
    const after = step === 1 ? items[next] : items[next - 1]
    return { entry, to: entry.parent, after: after?.id ?? null }
  }
  const other = all[at + step]
  return other && { entry, to: other.id, after: step === 1 ? null : (other.items.at(-1)?.id ?? null) }
}

/** Returns the move that dropping one entry on another makes: beside one of its kind, or into what it can be in. */
export function dropMove(
  tree: Tree,
  entry: PlanEntry,
  on: PlanEntry,
  edge: 'top' | 'bottom' | null,
): PlanMove | undefined {
  if (on.id === entry.id) return undefined
  const list = containers(tree, entry.kind).find(({ id }) => id === (on.kind === entry.kind ? on.parent : on.id))
  if (!list) return undefined
  const others = list.items.filter(({ id }) => id !== entry.id)
  if (on.kind !== entry.kind) return { entry, to: list.id, after: others.at(-1)?.id ?? null }
  const place = others.findIndex(({ id }) => id === on.id)
  const above = edge === 'top' ? others[place - 1] : others[place]
  return { entry, to: list.id, after: above?.id ?? null }
}

const insertAfter = <T extends Node>(items: readonly T[], node: T, after: string | null): T[] => {
  const others = items.filter(({ id }) => id !== node.id)
  const place = after === null ? 0 : others.findIndex(({ id }) => id === after) + 1
  return [...others.slice(0, place), node, ...others.slice(place)]
}

/** Returns the plan as it is after the move. */
export function movePlanEntry(tree: Tree, { entry: { id, kind }, to, after }: PlanMove): Tree {
  if (kind === 'epic') {
    const epic = tree.epics.find((one) => one.id === id)
    return epic ? { ...tree, epics: insertAfter(tree.epics, epic, after) } : tree
  }
  if (kind === 'story') {
    const story = tree.epics.flatMap(({ stories }) => stories).find((one) => one.id === id)
    if (!story) return tree
    const epics = tree.epics.map((epic) => ({
      ...epic,
      stories: epic.id === to ? insertAfter(epic.stories, story, after) : epic.stories.filter((one) => one.id !== id),
    }))
    return { ...tree, epics }
  }
  return moveTaskEntry(tree, id, to, after)
}

function moveTaskEntry(tree: Tree, id: string, to: string | null, after: string | null): Tree {
  const all = [...tree.epics.flatMap(({ stories }) => stories.flatMap(({ tasks }) => tasks)), ...tree.tasks]
  const task = all.find((one) => one.id === id)
  if (!task) return tree
  const within = (own: string | null, tasks: TreeTask[]) =>
    own === to ? insertAfter(tasks, task, after) : tasks.filter((one) => one.id !== id)
  return {
    ...tree,
    tasks: within(null, tree.tasks),
    epics: tree.epics.map((epic) => ({
      ...epic,
      stories: epic.stories.map((story) => ({ ...story, tasks: within(story.id, story.tasks) })),
    })),
  }
}

/** Returns the plan with other fields in one of its entries. */
export function setEntryFields(tree: Tree, id: string, fields: Partial<Pick<PlanEntry, 'title' | 'version'>>): Tree {
  const set = <T extends Node>(node: T): T => (node.id === id ? { ...node, ...fields } : node)
  return {
    ...tree,
    tasks: tree.tasks.map(set),
    epics: tree.epics.map((epic) => ({
      ...set(epic),
      stories: epic.stories.map((story) => ({ ...set(story), tasks: story.tasks.map(set) })),
    })),
  }
}
