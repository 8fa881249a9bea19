import type { Story } from '../../../src/features/stories/schema.ts'
import { findItem, pathTo } from '../../api/reference.ts'
import { recordLines } from '../../terminal/output.ts'
import { type Call, type CommandOutput, clearable, count, outputOf, text, type Verb } from '../noun.ts'
import { emptyMessage, fetchPages, listOutput, openOnly, sorting, workPaging } from '../resource.ts'
import { epicPath, outlineChanges, outlineColumns, outlineFacts, outlineFields } from './epics.ts'

const points = clearable(count('--points <number>', 'estimated effort'))
const epicOf = (call: Call): Promise<string> => epicPath(call, String(call.fields.epic))

/** Returns the path of a story that is named by id, title or the beginning of its id. */
async function storyPath(call: Call): Promise<{ path: string; epicId: string }> {
  const project = await call.needProject()
  const stories = pathTo('/api/projects/:slug/stories', project)
  const { id, epicId } = await findItem<Story>(call.client, stories, 'story', call.args[0] ?? '')
  return { path: pathTo('/api/projects/:slug/epics/:epic/stories/:id', project, epicId, id), epicId }
}

const storyOutput = (story: Story): CommandOutput =>
  outputOf(
    story,
    ...recordLines(
      { Story: story.title, Points: story.points, ...outlineFacts(story), Epic: story.epicId },
      story.description,
    ),
  )

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List the open stories of a project or an epic',
    aliases: ['ls'],
    inProject: true,
    fields: [
      text('--epic <epic>', 'only stories of this epic: title or id'),
      ...sorting('position', 'createdAt', 'updatedAt'),
      ...workPaging,
    ],
    examples: ['tutti stories list', 'tutti stories list --epic "Durable storage" --all'],
    run: async (call) => {
      const { epic, ...fields } = call.fields
      const path =
        epic === undefined
          ? pathTo('/api/projects/:slug/stories', await call.needProject())
          : `${await epicOf(call)}/stories`
      return listOutput(
        await fetchPages<Story>(call.client, path, openOnly(fields)),
        [...outlineColumns, { title: 'Points', of: (s) => s.points }],
        emptyMessage('stories', fields),
      )
    },
  },
  {
    name: 'show',
    args: '<story>',
    about: 'Show a story, by its title or id',
    inProject: true,
    examples: ['tutti stories show "Two processes"', 'tutti stories show 019a8a7e-5c1f'],
    run: async (call) => storyOutput(await call.client.get<Story>((await storyPath(call)).path)),
  },
  {
    name: 'create',
    args: '<title>',
    about: 'Create a story in an epic',
    inProject: true,
    fields: [
      text('--epic <epic>', 'epic that it belongs to: title or id', { required: true }),
      ...outlineFields,
      points,
    ],
    examples: ['tutti stories create "Two processes" --epic "Durable storage" --points 3'],
    run: async (call) => {
      const { epic: _, ...fields } = call.fields
      return storyOutput(
        await call.client.post<Story>(`${await epicOf(call)}/stories`, { title: call.args[0], ...fields }),
      )
    },
  },
  {
    name: 'update',
    args: '<story>',
    about: 'Update a story, or move it to another epic',
    inProject: true,
    fields: [...outlineChanges, points, text('--epic <epic>', 'move it to this epic: title or id')],
    examples: [
      'tutti stories update "Two processes" --points 5 --status in_progress',
      'tutti stories update 019a8a7e-5c1f --epic "Durable storage"',
    ],
    run: async (call) => {
      const { epic, ...fields } = call.fields
      const to = epic === undefined ? {} : { epicId: (await epicOf(call)).split('/').at(-1) }
      return storyOutput(await call.client.request<Story>('PUT', (await storyPath(call)).path, { ...fields, ...to }))
    },
  },
  {
    name: 'delete',
    args: '<story>',
    about: 'Delete a story with its tasks',
    inProject: true,
    examples: ['tutti stories delete "Two processes"'],
    run: async (call) => {
      const { path, epicId } = await storyPath(call)
      const gone = await call.client.request<{ id: string }>('DELETE', path)
      return {
        ...outputOf(gone, `Deleted ${call.args[0]}.`),
        note: `To restore it within 24 hours (administrators: 30 days): tutti stories restore ${gone.id} --epic ${epicId}`,
      }
    },
  },
  {
    name: 'restore',
    args: '<story>',
    about: 'Restore a story that was deleted in the last 30 days, by its id',
    inProject: true,
    fields: [text('--epic <epic>', 'epic that it belongs to: title or id', { required: true })],
    examples: ['tutti stories restore 019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10 --epic Storage'],
    run: async (call) =>
      storyOutput(await call.client.post<Story>(pathTo(`${await epicOf(call)}/stories/:id/restore`, call.args[0]))),
  },
]
