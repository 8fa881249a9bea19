import type { McpToken } from '../../src/features/tokens/schema.ts'
import { makeToken } from '../mcp-token.ts'
import { amongMine, at, count, listed, many, type Page, paging, projectId, query, shown, text, type Verb } from '../noun.ts'
import { ago } from '../output.ts'

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List your MCP tokens',
    aliases: ['ls'],
    fields: paging,
    run: async ({ client, fields }) =>
      listed(
        await client.get<Page<McpToken>>(query('/api/mcp-tokens', fields)),
        [
          { title: 'Id', of: (t) => t.id.slice(0, 13) },
          { title: 'Name', of: (t) => t.name, wide: true },
          { title: 'Scopes', of: (t) => t.scopes.join(', ') },
          { title: 'Last used', of: (t) => (t.lastUsedAt ? ago(t.lastUsedAt) : 'never') },
        ],
        'No tokens.',
      ),
  },
  {
    name: 'create',
    args: '<name>',
    about: 'Make a token for an agent; it is printed once',
    inProject: true,
    fields: [
      text('--team <team>', 'for this team; the current one unless told'),
      many('--scope <scope>', 'read, write, or narrower such as tasks:write', 'scopes'),
      many('--toolset <name>', 'only these tools', 'toolsets'),
      text('--kind <kind>', 'live, or test for the sandbox'),
      count('--expires-in <days>', 'ends by itself', 'expiresInDays'),
    ],
    examples: ['tokens create "CI" --scope read --expires-in 90'],
    run: async ({ client, args: [name], fields: { team, ...fields }, project }) => {
      const named = await project()
      const made = await makeToken(client, {
        name: name as string,
        ...fields,
        ...(team !== undefined && { organizationId: await amongMine(client, '/api/teams', 'team', String(team)) }),
        ...(named && { projectId: await projectId(client, named) }),
      })
      return shown(made, made.token)
    },
  },
  {
    name: 'revoke',
    args: '<token>',
    about: 'End a token',
    aliases: ['delete'],
    run: async ({ client, args: [token] }) => {
      const id = await amongMine(client, '/api/mcp-tokens', 'token', token as string)
      return shown(await client.request('DELETE', at('/api/mcp-tokens/:id', id)), 'It works no more.')
    },
  },
]
