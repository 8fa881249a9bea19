import type { Project } from '../../src/features/projects/schema.ts'
import { at, flag, json, listed, type Page, paging, query, record, shown, text, type Verb } from '../noun.ts'

const fields = [
  text('-d, --description <text>', 'what it is for; - reads it from standard input'),
  text('--key <letters>', '2 to 6 capitals in front of task numbers'),
  json('--settings <json>', 'settings, such as an own workflow'),
]
const one = (project: Project) =>
  shown(
    project,
    ...record(
      { Name: project.name, Slug: project.slug, Key: project.key, Status: project.status, Visibility: project.visibility, Id: project.id },
      project.description,
    ),
  )

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List projects, last changed first',
    aliases: ['ls'],
    fields: [text('--status <status>', 'active or archived'), text('--search <words>', 'only those'), ...paging],
    run: async ({ client, fields }) =>
      listed(
        await client.get<Page<Project>>(query('/api/projects', fields)),
        [
          { title: 'Key', of: (p) => p.key },
          { title: 'Slug', of: (p) => p.slug },
          { title: 'Name', of: (p) => p.name, wide: true },
          { title: 'Status', of: (p) => p.status },
          { title: 'Seen by', of: (p) => p.visibility },
        ],
        'No projects. Make one: tutti projects create "My project"',
      ),
  },
  {
    name: 'show',
    args: '<project>',
    about: 'Show a project',
    run: async ({ client, args }) => one(await client.get<Project>(at('/api/projects/:slug', ...args))),
  },
  {
    name: 'create',
    args: '<name>',
    about: 'Make a project',
    fields: [...fields, text('--visibility <who>', 'private, team or public')],
    examples: ['projects create "Tutti" --key TUT'],
    run: async ({ client, args: [name], fields }) => one(await client.post<Project>('/api/projects', { name, ...fields })),
  },
  {
    name: 'update',
    args: '<project>',
    about: 'Change a project',
    fields: [text('--name <name>', 'a new name'), ...fields],
    run: async ({ client, args, fields }) => one(await client.request<Project>('PUT', at('/api/projects/:slug', ...args), fields)),
  },
  {
    name: 'archive',
    args: '<project>',
    about: 'Put a project away, or bring it back',
    fields: [flag('--restore', 'bring it back')],
    run: async ({ client, args, fields }) =>
      one(await client.post<Project>(at(`/api/projects/:slug/${fields.restore ? 'restore' : 'archive'}`, ...args))),
  },
  {
    name: 'delete',
    args: '<project>',
    about: 'Delete a project with all that is in it',
    run: async ({ client, args }) => shown(await client.request('DELETE', at('/api/projects/:slug', ...args)), `Deleted ${args[0]}.`),
  },
]
