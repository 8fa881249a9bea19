import type { Member, Organization } from '../../src/features/organizations/schema.ts'
import type { Client } from '../client.ts'
import { amongMine, at, listed, type Page, paging, query, record, shown, text, type Verb } from '../noun.ts'

const one = (team: Organization) =>
  shown(team, ...record({ Team: team.name, Slug: team.slug, 'Your role': team.role, Id: team.id }, team.description))

const idOf = (client: Client, ref: string | undefined) => amongMine(client, '/api/teams', 'team', ref as string)

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List your teams',
    aliases: ['ls'],
    fields: paging,
    run: async ({ client, fields }) =>
      listed(
        await client.get<Page<Organization>>(query('/api/teams', fields)),
        [
          { title: 'Slug', of: (t) => t.slug },
          { title: 'Name', of: (t) => t.name, wide: true },
          { title: 'Your role', of: (t) => t.role },
        ],
        'No teams.',
      ),
  },
  {
    name: 'show',
    args: '<team>',
    about: 'Show one',
    run: async ({ client, args }) => one(await client.get<Organization>(at('/api/teams/:id', await idOf(client, args[0])))),
  },
  {
    name: 'create',
    args: '<name>',
    about: 'Make one',
    fields: [text('-d, --description <text>', 'what it is about')],
    run: async ({ client, args: [name], fields }) => one(await client.post<Organization>('/api/teams', { name, ...fields })),
  },
  {
    name: 'update',
    args: '<team>',
    about: 'Change one',
    fields: [text('--name <name>', 'a new name'), text('-d, --description <text>', 'what it is about')],
    run: async ({ client, args, fields }) =>
      one(await client.request<Organization>('PATCH', at('/api/teams/:id', await idOf(client, args[0])), fields)),
  },
  {
    name: 'members',
    args: '<team>',
    about: 'List the members of a team',
    fields: paging,
    run: async ({ client, args, fields }) =>
      listed(
        await client.get<Page<Member>>(query(at('/api/teams/:id/members', await idOf(client, args[0])), fields)),
        [
          { title: 'Name', of: (m) => m.name },
          { title: 'E-mail', of: (m) => m.email, wide: true },
          { title: 'Role', of: (m) => m.role },
        ],
        'Nobody.',
      ),
  },
  {
    name: 'invite',
    args: '<team> <email>',
    about: 'Invite somebody',
    fields: [text('--role <role>', 'owner, admin, member or viewer')],
    run: async ({ client, args: [team, email], fields }) =>
      shown(await client.post(at('/api/teams/:id/invite', await idOf(client, team)), { email, ...fields }), `Invited ${email}.`),
  },
]
