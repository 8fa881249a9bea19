import type { Grant } from '../../../src/features/grants/schema.ts'
import { findOwnId, pathTo } from '../../api/reference.ts'
import { timeAgo, timeLeft } from '../../terminal/times.ts'
import { outputOf, type Verb } from '../noun.ts'
import { fetchPages, listOutput, paging, sorting } from '../resource.ts'

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List the programs that you authorized',
    aliases: ['ls'],
    fields: [...sorting('createdAt'), ...paging],
    examples: ['tutti oauth list'],
    run: async ({ client, fields }) =>
      listOutput(
        await fetchPages<Grant>(client, '/api/settings/grants', fields),
        [
          { title: 'Id', of: (g) => g.id.slice(0, 13) },
          { title: 'Program', of: (g) => (g.host ? `${g.name} (${g.host})` : g.name), wide: true },
          { title: 'Agent', of: (g) => g.agentName },
          { title: 'Scopes', of: (g) => g.scopes.join(', ') },
          { title: 'Last used', of: (g) => (g.lastUsedAt ? timeAgo(g.lastUsedAt) : 'never') },
          { title: 'Ends', of: (g) => timeLeft(g.expiresAt) },
        ],
        'No programs. They sign in after: tutti connect claude-code',
      ),
  },
  {
    name: 'end',
    args: '<program>',
    about: 'Revoke the access of a program, by its name, its id or the beginning of its id',
    aliases: ['revoke'],
    examples: ['tutti oauth end "Claude Code"'],
    run: async ({ client, args: [program] }) => {
      const id = await findOwnId(client, '/api/settings/grants', 'program', program as string)
      return outputOf(await client.request('DELETE', pathTo('/api/settings/grants/:id', id)), 'Permission ended.')
    },
  },
]
