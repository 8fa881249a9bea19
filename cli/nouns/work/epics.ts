import type { Epic } from '../../../src/features/stories/schema.ts'
import { priorities, statuses } from '../../../src/records/task-states.ts'
import { findItem, pathTo } from '../../api/reference.ts'
import type { Column } from '../../terminal/output.ts'
import { recordLines } from '../../terminal/output.ts'
import { timeAgo } from '../../terminal/times.ts'
import { type Call, type CommandOutput, choice, clearable, type Field, outputOf, text, type Verb } from '../noun.ts'
import { deletedOutput, emptyMessage, fetchPages, listOutput, openOnly, sorting, workPaging } from '../resource.ts'

/** What epics and stories have in common. */

export const outlineFields: Field[] = [
  clearable(text('-d, --description <text>', 'description; "-" reads standard input')),
  choice('--status <status>', statuses, 'todo'),
  choice('--priority <priority>', priorities, 'medium'),
]
/** Without the defaults of `create`. */
export const outlineChanges: Field[] = [
  text('-t, --title <title>', 'new title'),
  clearable(text('-d, --description <text>', 'description; "-" reads standard input')),
  choice('--status <status>', statuses),
  choice('--priority <priority>', priorities),
]
const progressText = ({ progress }: Pick<Epic, 'progress'>): string => `${progress.done}/${progress.tasks}`
export const outlineColumns: Column<Epic>[] = [
  { title: 'Id', of: (e) => e.id.slice(0, 13) },
  { title: 'Status', of: (e) => e.status },
  { title: 'Priority', of: (e) => e.priority },
  { title: 'Title', of: (e) => e.title, wide: true },
  { title: 'Done', of: progressText },
]
export const outlineFacts = (item: Epic): Record<string, string> => ({
  Status: item.status,
  Priority: item.priority,
  Tasks: `${item.progress.done} of ${item.progress.tasks} done`,
  Updated: timeAgo(item.updatedAt),
  Id: item.id,
})

/** Returns the path of the project's epics. */
const epicsPath = async ({ needProject }: Call): Promise<string> =>
  pathTo('/api/projects/:slug/epics', await needProject())
/** Returns the path of an epic that is named by id, title or the beginning of its id. */
export async function epicPath(call: Call, ref: string | undefined): Promise<string> {
  const path = await epicsPath(call)
  return pathTo(`${path}/:id`, (await findItem<Epic>(call.client, path, 'epic', ref ?? '')).id)
}

const epicOutput = (epic: Epic): CommandOutput =>
  outputOf(epic, ...recordLines({ Epic: epic.title, ...outlineFacts(epic) }, epic.description))

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List the open epics of a project, in their order',
    aliases: ['ls'],
    inProject: true,
    fields: [...sorting('position', 'createdAt', 'updatedAt'), ...workPaging],
    examples: ['tutti epics list', 'tutti epics list --all --project TUT'],
    run: async (call) =>
      listOutput(
        await fetchPages<Epic>(call.client, await epicsPath(call), openOnly(call.fields)),
        outlineColumns,
        emptyMessage('epics', call.fields),
      ),
  },
  {
    name: 'show',
    args: '<epic>',
    about: 'Show an epic, by its title or id',
    inProject: true,
    examples: ['tutti epics show "Durable storage"', 'tutti epics show 019a8a7e-5c1f'],
    run: async (call) => epicOutput(await call.client.get<Epic>(await epicPath(call, call.args[0]))),
  },
  {
    name: 'create',
    args: '<title>',
    about: 'Create an epic',
    inProject: true,
    fields: outlineFields,
    examples: ['tutti epics create "Durable storage" --priority high'],
    run: async (call) =>
      epicOutput(await call.client.post<Epic>(await epicsPath(call), { title: call.args[0], ...call.fields })),
  },
  {
    name: 'update',
    args: '<epic>',
    about: 'Update an epic',
    inProject: true,
    fields: outlineChanges,
    examples: ['tutti epics update "Durable storage" --status done'],
    run: async (call) =>
      epicOutput(await call.client.request<Epic>('PUT', await epicPath(call, call.args[0]), call.fields)),
  },
  {
    name: 'delete',
    args: '<epic>',
    about: 'Delete an epic with its stories and tasks',
    inProject: true,
    examples: ['tutti epics delete "Durable storage"'],
    run: async (call) =>
      deletedOutput(
        await call.client.request<{ id: string }>('DELETE', await epicPath(call, call.args[0])),
        'epics',
        call.args[0],
      ),
  },
  {
    name: 'restore',
    args: '<epic>',
    about: 'Restore an epic that was deleted in the last 30 days, by its id',
    inProject: true,
    examples: ['tutti epics restore 019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'],
    run: async (call) =>
      epicOutput(await call.client.post<Epic>(pathTo(`${await epicsPath(call)}/:id/restore`, call.args[0]))),
  },
]
