/** Changes of a proposed list of tasks or plan, before it is accepted. Dependencies stay true. */
import type { TasksDraft } from '../../../features/assistant/schema.ts'
import type { PlanCreate } from '../../../features/planning/schema.ts'

/** Places from the outside in: an epic, a story in it, a task in that. */
type PlanPath = readonly [epic: number, story?: number, task?: number]

interface DraftRow {
  path: PlanPath
  title: string
  level: 1 | 2 | 3
}

/** Returns the epics, stories and tasks of a plan, in order. */
export const draftRows = ({ epics }: PlanCreate): DraftRow[] =>
  epics.flatMap((epic, e): DraftRow[] => [
    { path: [e], title: epic.title, level: 1 },
    ...(epic.stories ?? []).flatMap((story, s): DraftRow[] => [
      { path: [e, s], title: story.title, level: 2 },
      ...(story.tasks ?? []).map(({ title }, t): DraftRow => ({ path: [e, s, t], title, level: 3 })),
    ]),
  ])

/** Returns the list with another item at a place, or without it if there is none. */
const replaceAt = <T>(list: readonly T[] = [], place: number, change: (item: T) => T | undefined): T[] =>
  list.flatMap((item, i) => {
    const next = i === place ? change(item) : item
    return next === undefined ? [] : [next]
  })

type Change = <T extends { title: string }>(item: T) => T | undefined

const changePlanItem = ({ epics }: PlanCreate, [e, s, t]: PlanPath, change: Change): PlanCreate => ({
  epics: replaceAt(epics, e, (epic) =>
    s === undefined
      ? change(epic)
      : {
          ...epic,
          stories: replaceAt(epic.stories, s, (story) =>
            t === undefined ? change(story) : { ...story, tasks: replaceAt(story.tasks, t, change) },
          ),
        },
  ),
})

export const retitlePlanItem = (plan: PlanCreate, path: PlanPath, title: string): PlanCreate =>
  changePlanItem(plan, path, (item) => ({ ...item, title }))

/** Leaves out an item and what is in it. Tasks no longer wait for what is left out. */
export function removePlanItem(plan: PlanCreate, path: PlanPath): PlanCreate {
  const { epics } = changePlanItem(plan, path, () => undefined)
  const refs = new Set(
    epics.flatMap(({ stories = [] }) => stories.flatMap(({ tasks = [] }) => tasks.map(({ ref }) => ref))),
  )
  return {
    epics: epics.map((epic) => ({
      ...epic,
      ...(epic.stories && {
        stories: epic.stories.map((story) => ({
          ...story,
          ...(story.tasks && {
            tasks: story.tasks.map((task) => ({
              ...task,
              ...(task.blockedBy && { blockedBy: task.blockedBy.filter((ref) => refs.has(ref)) }),
            })),
          }),
        })),
      }),
    })),
  }
}

/** Tasks of a list refer to each other by title, so a new title also replaces the references. */
export function retitleTask({ tasks }: TasksDraft, place: number, title: string): TasksDraft {
  const before = tasks[place]?.title
  const isAlone = tasks.filter((task) => task.title === before).length === 1
  const follow = (name: string) => (isAlone && name === before ? title : name)
  return {
    tasks: tasks.map((task, i) => ({
      ...task,
      ...(i === place && { title }),
      ...(task.blockedBy && { blockedBy: task.blockedBy.map(follow) }),
    })),
  }
}

export function removeTask({ tasks }: TasksDraft, place: number): TasksDraft {
  const gone = tasks[place]?.title
  const rest = tasks.filter((_, i) => i !== place)
  const isGone = (name: string) => name === gone && !rest.some(({ title }) => title === gone)
  return {
    tasks: rest.map((task) => ({
      ...task,
      ...(task.blockedBy && { blockedBy: task.blockedBy.filter((name) => !isGone(name)) }),
    })),
  }
}
