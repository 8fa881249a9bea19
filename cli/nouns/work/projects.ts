import type { Progress } from '../../../src/features/planning/schema.ts'
import type { Project, ProjectDetail } from '../../../src/features/projects/schema.ts'
import { projectColors } from '../../../src/records/project-colors.ts'
import type { Client } from '../../api/client.ts'
import { currentTeamId, findOwnId, pathTo, withQuery } from '../../api/reference.ts'
import { recordLines, tableLines } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { timeAgo } from '../../terminal/times.ts'
import { type CommandOutput, choice, clearable, count, flag, json, outputOf, text, type Verb } from '../noun.ts'
import { archivePaging, deletedOutput, fetchPages, listOutput, sorting, withArchived } from '../resource.ts'

const fields = [
  clearable(text('-d, --description <text>', 'description; "-" reads standard input')),
  text('--key <letters>', 'prefix of task numbers: 2 to 6 capital letters'),
  choice('--color <color>', projectColors),
  json('--settings <json>', 'settings, such as a custom workflow'),
]
const visibility = choice('--visibility <who>', ['private', 'team', 'public'])
const projectOutput = (project: Project | ProjectDetail): CommandOutput => {
  const stats = 'stats' in project ? project.stats : undefined
  return outputOf(
    project,
    ...recordLines(
      {
        Name: project.name,
        Slug: project.slug,
        Key: project.key,
        Status: project.status,
        Visibility: project.visibility,
        Color: project.color,
        Tasks: stats && `${stats.tasksDone} of ${stats.tasks} done`,
        Notes: stats?.notes,
        Updated: timeAgo(project.updatedAt),
        Id: project.id,
      },
      project.description,
    ),
  )
}

/** The server lists the projects of all teams unless one is named. A copy, which has one team, needs no name. */
const teamFilter = (client: Client): Promise<string | undefined> => currentTeamId(client).catch(() => undefined)

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List active projects, last updated first',
    aliases: ['ls'],
    fields: [
      choice('--status <status>', ['active', 'archived'], 'active'),
      text('--search <words>', 'only projects with all of these words'),
      ...sorting('updatedAt', 'createdAt', 'name'),
      ...archivePaging,
    ],
    examples: ['tutti projects list', 'tutti projects list --all'],
    run: async ({ client, fields }) =>
      listOutput(
        await fetchPages<Project>(client, '/api/projects', {
          ...withArchived(fields),
          organizationId: await teamFilter(client),
        }),
        [
          { title: 'Key', of: (p) => p.key },
          { title: 'Slug', of: (p) => p.slug },
          { title: 'Name', of: (p) => p.name, wide: true },
          { title: 'Status', of: (p) => p.status },
          { title: 'Visibility', of: (p) => p.visibility },
        ],
        'No projects. Create one: tutti projects create "My project"',
      ),
  },
  {
    name: 'show',
    args: '<project>',
    about: 'Show a project',
    examples: ['tutti projects show TUT'],
    run: async ({ client, args }) =>
      projectOutput(await client.get<ProjectDetail>(pathTo('/api/projects/:slug', ...args))),
  },
  {
    name: 'progress',
    args: '<project>',
    about: 'Show how many tasks a project had on each day, and how many were done',
    online: true,
    fields: [count('--days <number>', 'how many days, up to today (default: 56)')],
    examples: ['tutti projects progress TUT', 'tutti projects progress TUT --days 14'],
    run: async ({ client, args, fields }) => {
      const found = await client.get<Progress>(withQuery(pathTo('/api/projects/:slug/progress', ...args), fields))
      const lines = tableLines(found.days, [
        { title: 'Day', of: ({ day }) => day },
        { title: 'Tasks', of: ({ scope }) => scope },
        { title: 'Done', of: ({ done }) => done },
        { title: 'By people', of: ({ people }) => people },
        { title: 'By agents', of: ({ agents }) => agents },
      ])
      return outputOf(found, ...lines)
    },
  },
  {
    name: 'create',
    args: '<name>',
    about: 'Create a project',
    fields: [...fields, visibility],
    examples: ['tutti projects create "Tutti" --key TUT'],
    run: async ({ client, args: [name], fields }) =>
      projectOutput(await client.post<Project>('/api/projects', { name, ...fields })),
  },
  {
    name: 'sample',
    about: 'Create a sample project to explore, or show the one of the team',
    online: true,
    examples: ['tutti projects sample'],
    run: async ({ client }) => projectOutput(await client.post<Project>('/api/onboarding/sample')),
  },
  {
    name: 'update',
    args: '<project>',
    about: 'Update a project',
    fields: [text('-t, --name <name>', 'new name'), ...fields, visibility],
    examples: ['tutti projects update tutti -d "One binary" --visibility private'],
    run: async ({ client, args, fields: { visibility, ...fields } }) => {
      const changed =
        Object.keys(fields).length > 0 &&
        (await client.request<Project>('PUT', pathTo('/api/projects/:slug', ...args), fields))
      if (visibility === undefined) return projectOutput(changed as Project)
      return projectOutput(
        await client.post<Project>(pathTo('/api/projects/:slug/share', changed ? changed.id : args[0]), { visibility }),
      )
    },
  },
  {
    name: 'share',
    args: '<project>',
    about: 'Share a project: with its team (default), with everyone, or in a workspace',
    online: true,
    fields: [
      visibility,
      text(
        '--workspace <workspace>',
        'workspace where its team can write; "none" removes the project from its workspace',
      ),
    ],
    examples: ['tutti projects share TUT --workspace Engines'],
    run: async ({ client, args, fields: { workspace, ...fields } }) => {
      const workspaceId =
        workspace === undefined || workspace === 'none'
          ? workspace && null
          : await findOwnId(client, '/api/workspaces', 'workspace', String(workspace))
      return projectOutput(
        await client.post<Project>(pathTo('/api/projects/:slug/share', ...args), { ...fields, workspaceId }),
      )
    },
  },
  {
    name: 'unshare',
    args: '<project>',
    about: 'Stop sharing a project: restore its earlier visibility and remove it from its workspace',
    online: true,
    examples: ['tutti projects unshare TUT'],
    run: async ({ client, args }) =>
      projectOutput(await client.request<Project>('DELETE', pathTo('/api/projects/:slug/share', ...args))),
  },
  {
    name: 'move',
    args: '<project> <team>',
    about: 'Move a project and everything in it to another of your teams',
    online: true,
    fields: [flag('-y, --yes', 'confirm the move')],
    examples: ['tutti projects move TUT looms --yes'],
    run: async ({ client, args: [ref, team], fields }) => {
      if (!fields.yes)
        throw new Refusal(
          `This moves ${ref} and everything in it to ${team}, and only an admin there can move it back. ` +
            'Add --yes to confirm. To work on it with another team instead, share it in a workspace.',
        )
      const organizationId = await findOwnId(client, '/api/teams', 'team', team as string)
      return projectOutput(
        await client.request<Project>('PATCH', pathTo('/api/projects/:slug', ref), { organizationId }),
      )
    },
  },
  {
    name: 'archive',
    args: '<project>',
    about: 'Archive a project; it is read-only until you restore it',
    online: true,
    examples: ['tutti projects archive old-one'],
    run: async ({ client, args }) =>
      projectOutput(await client.post<Project>(pathTo('/api/projects/:slug/archive', ...args))),
  },
  {
    name: 'restore',
    args: '<project>',
    about: 'Restore a project that is archived or was deleted in the last 30 days',
    online: true,
    examples: ['tutti projects restore old-one'],
    run: async ({ client, args }) =>
      projectOutput(await client.post<Project>(pathTo('/api/projects/:slug/restore', ...args))),
  },
  {
    name: 'delete',
    args: '<project>',
    about: 'Delete a project and everything in it',
    examples: ['tutti projects delete old-one'],
    run: async ({ client, args }) =>
      deletedOutput(
        await client.request<{ id: string }>('DELETE', pathTo('/api/projects/:slug', ...args)),
        'projects',
        args[0],
      ),
  },
]
