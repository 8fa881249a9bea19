import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { PlanCreate } from '../../../features/planning/schema.ts'
import type { Epic } from '../../../features/stories/schema.ts'
import { ok, planning, restoreAt, stories, tasks, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'
import { movePlanEntry, type PlanEntry, type PlanKind, type PlanMove, setEntryFields } from './model.ts'

export const treeQuery = (slug: string) =>
  queryOptions({ queryKey: ['plan', slug], queryFn: () => ok(planning.projects({ slug }).tree.get()) })

/** The epic or story that the address names, with its text. */
export const planSubjectQuery = (slug: string, epicId: string, storyId?: string) =>
  queryOptions({
    queryKey: ['plan', slug, epicId, storyId],
    queryFn: (): Promise<Epic> => {
      const epic = stories.projects({ slug }).epics({ epicId })
      return storyId ? ok(epic.stories({ storyId }).get()) : ok(epic.get())
    },
  })

/** Where an entry is kept, below /api. */
const pathOf = (slug: string, { kind, id, epicId }: PlanEntry): string => {
  const project = `/projects/${encodeURIComponent(slug)}`
  if (kind === 'task') return `/tasks/${id}`
  return kind === 'epic' ? `${project}/epics/${id}` : `${project}/epics/${epicId}/stories/${id}`
}

type Fields = { title?: string; after?: string | null; to?: string | null }

/** Writes fields of an entry. `to` moves it into another epic or story. */
function writeEntry(slug: string, { kind, id, epicId, parent }: PlanEntry, { to, ...fields }: Fields, version: number) {
  const how = writeOptions(version)
  const isMoved = to !== undefined && to !== parent
  if (kind === 'task') return ok(tasks.tasks({ id }).patch({ ...fields, ...(isMoved && { storyId: to }) }, how))
  const epics = stories.projects({ slug }).epics
  if (kind === 'epic') return ok(epics({ epicId: id }).put(fields, how))
  const story = epics({ epicId: epicId as string }).stories({ storyId: id })
  return ok(story.put({ ...fields, ...(isMoved && { epicId: to as string }) }, how))
}

interface Change {
  entry: PlanEntry
  fields: Fields
  move?: PlanMove
}

/** Changes the plan at once, and takes the change back if the server refuses it. */
export function useChangePlan(slug: string, refused: (entry: PlanEntry, error: Error) => void) {
  const cache = useQueryClient()
  const { queryKey } = treeQuery(slug)
  const mutationKey = ['plan', slug]
  return useMutation({
    // One after the other, each with the version that the one before returned: two quick moves are no conflict.
    mutationKey,
    scope: { id: `plan ${slug}` },
    mutationFn: async ({ entry, fields }: Change) =>
      writeEntry(slug, entry, fields, versions.get(entry.id) ?? entry.version),
    onMutate: async ({ entry, fields: { title }, move }) => {
      await cache.cancelQueries({ queryKey })
      const before = cache.getQueryData(queryKey)
      const shown =
        before && (move ? movePlanEntry(before, move) : setEntryFields(before, entry.id, title ? { title } : {}))
      if (shown) cache.setQueryData(queryKey, shown)
      return { before }
    },
    onSuccess: ({ id, version }) => {
      versions.set(id, version)
      cache.setQueryData(queryKey, (tree) => tree && setEntryFields(tree, id, { version }))
    },
    onError: (error, { entry }, context) => {
      if (context?.before) cache.setQueryData(queryKey, context.before)
      versions.delete(entry.id)
      refused(entry, error)
    },
    onSettled: () => {
      if (cache.isMutating({ mutationKey }) > 1) return
      versions.clear()
      return cache.invalidateQueries({ queryKey })
    },
  })
}
/** Versions that changes returned which are not in what was loaded yet. */
const versions = new Map<string, number>()

interface NewEntry {
  kind: PlanKind
  title: string
  parent: string | null
  epicId: string | null
}

export const useAddEntry = (slug: string) =>
  useWrite(async ({ kind, title, parent, epicId }: NewEntry): Promise<void> => {
    const how = writeOptions()
    const epics = stories.projects({ slug }).epics
    if (kind === 'epic') await ok(epics.post({ title }, how))
    else if (kind === 'story') await ok(epics({ epicId: epicId as string }).stories.post({ title }, how))
    else await ok(tasks.projects({ slug }).tasks.post({ title, ...(parent && { storyId: parent }) }, how))
  }, treeQuery(slug).queryKey)

export function useRemoveEntry(slug: string) {
  const cache = useQueryClient()
  const settled = () => cache.invalidateQueries({ queryKey: treeQuery(slug).queryKey })
  const remove = useMutation({
    mutationFn: async (entry: PlanEntry): Promise<void> => {
      const how = writeOptions(entry.version)
      const epics = planning.projects({ slug }).epics
      if (entry.kind === 'task') await ok(tasks.tasks({ id: entry.id }).delete(undefined, how))
      else if (entry.kind === 'epic') await ok(epics({ epicId: entry.id }).delete(undefined, how))
      else
        await ok(
          epics({ epicId: entry.epicId as string })
            .stories({ storyId: entry.id })
            .delete(undefined, how),
        )
    },
    onSettled: settled,
  })
  const restore = useMutation({
    mutationFn: (entry: PlanEntry) => restoreAt(pathOf(slug, entry), writeOptions()),
    onSettled: settled,
  })
  return { remove, restore }
}

export const useCreatePlan = (slug: string) =>
  useWrite(
    ({ plan, once }: { plan: PlanCreate; once: string }) =>
      ok(planning.projects({ slug }).plan.post(plan, writeOptions(undefined, once))),
    treeQuery(slug).queryKey,
  )
