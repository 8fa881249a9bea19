import type { Grant } from '../../src/features/grants/schema.ts'
import { amongMine, at } from '../api/reference.ts'
import { ago, left } from '../terminal/times.ts'
import { shown, type Verb } from './noun.ts'
import { listed, pages, paging, sorting } from './resource.ts'

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List the programs that you authorized',
    aliases: ['ls'],
    fields: [...sorting('createdAt'), ...paging],
    examples: ['tutti oauth list'],
    run: async ({ client, fields }) =>
      listed(
        await pages<Grant>(client, '/api/settings/grants', fields),
        [
          { title: 'Id', of: (g) => g.id.slice(0, 13) },
          { title: 'Program', of: (g) => (g.host ? `${g.name} (${g.host})` : g.name), wide: true },
          { title: 'Agent', of: (g) => g.agentName },
          { title: 'Scopes', of: (g) => g.scopes.join(', ') },
          { title: 'Last used', of: (g) => (g.lastUsedAt ? ago(g.lastUsedAt) : 'never') },
          { title: 'Ends', of: (g) => left(g.expiresAt) },
        ],
        'No programs. They sign in after: tutti connect claude-code',
      ),
  },
  {
    name: 'end',
    args: '<program>',
    about: 'End the permission of a program, by its name, id or the beginning of its id',
    aliases: ['revoke'],
    examples: ['tutti oauth end "Claude Code"'],
    run: async ({ client, args: [program] }) => {
      const id = await amongMine(client, '/api/settings/grants', 'program', program as string)
      return shown(await client.request('DELETE', at('/api/settings/grants/:id', id)), 'Permission ended.')
    },
  },
]
