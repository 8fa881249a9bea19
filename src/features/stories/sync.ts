import type { Ctx } from '../../action.ts'
import { hook } from '../../hooks.ts'
import { type StoredRecord, type SyncRules, validateFields } from '../../records/sync.ts'
import { id, object } from '../../schema.ts'
import { createEpic, updateEpic } from './epics.ts'
import { type EpicPath, epicColumns, type StoryPath, storyColumns } from './rows.ts'
import { EpicCreate, EpicPatch, StoryCreate, StoryPatch } from './schema.ts'
import { createStory, updateStory } from './stories.ts'

/** Deletes or restores an epic or a story with everything in it. `planning` handles it, because it knows the tasks. */
export const outlineChange = hook<Outline & { change: 'remove' | 'restore' }>('stories.outlineChange')
type Outline = { of: 'epic'; path: EpicPath } | { of: 'story'; path: StoryPath }

const inProject = object({ slug: id({ description: 'projectId' }) })
const inEpic = object({ slug: id({ description: 'projectId' }), epicId: id() })

const fields = { title: 'value', description: 'text', status: 'value', priority: 'value' } as const

const epicPath = ({ id: epicId, projectId }: StoredRecord): EpicPath => ({ slug: String(projectId), epicId })
const storyPath = ({ id: storyId, projectId, epicId }: StoredRecord): StoryPath => ({
  slug: String(projectId),
  epicId: String(epicId),
  storyId,
})
const ofEpic = (change: 'remove' | 'restore') => (ctx: Ctx, before: StoredRecord) =>
  outlineChange.call(ctx, { change, of: 'epic', path: epicPath(before) })
const ofStory = (change: 'remove' | 'restore') => (ctx: Ctx, before: StoredRecord) =>
  outlineChange.call(ctx, { change, of: 'story', path: storyPath(before) })

export const epicSync: SyncRules<Ctx> = {
  columns: epicColumns,
  fields,
  onCreate: ['projectId'],
  create: (ctx, id, { projectId, ...rest }) =>
    createEpic(ctx, { ...validateFields(EpicCreate, rest), ...validateFields(inProject, { slug: projectId }), id }),
  update: (ctx, before, changed) => updateEpic(ctx, { ...validateFields(EpicPatch, changed), ...epicPath(before) }),
  remove: ofEpic('remove'),
  restore: ofEpic('restore'),
}

export const storySync: SyncRules<Ctx> = {
  columns: storyColumns,
  fields: { ...fields, points: 'value', epicId: 'value' },
  onCreate: ['projectId'],
  create: (ctx, id, { projectId, epicId, ...rest }) =>
    createStory(ctx, {
      ...validateFields(StoryCreate, rest),
      ...validateFields(inEpic, { slug: projectId, epicId }),
      id,
    }),
  update: (ctx, before, changed) => {
    const { epicId: to, ...rest } = validateFields(StoryPatch, changed)
    return updateStory(ctx, { ...rest, to, ...storyPath(before) })
  },
  remove: ofStory('remove'),
  restore: ofStory('restore'),
}
