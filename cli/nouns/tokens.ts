import type { McpToken } from '../../src/features/tokens/schema.ts'
import { toolsetNames } from '../../src/mcp/toolsets.ts'
import { makeToken } from '../agents/mcp-token.ts'
import { amongMine, at } from '../api/reference.ts'
import { ago, left } from '../terminal/times.ts'
import { count, flag, many, reference, shown, text, type Verb } from './noun.ts'
import { listed, pages, paging, sorting } from './resource.ts'

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List your MCP tokens that work',
    aliases: ['ls'],
    fields: [
      ...sorting('createdAt', 'name'),
      ...paging.map((field) =>
        field.flag === '--all' ? flag('--all', 'list all results, including revoked and expired ones') : field,
      ),
    ],
    examples: ['tutti tokens list', 'tutti tokens list --all'],
    run: async ({ client, fields }) =>
      listed(
        await pages<McpToken>(client, '/api/mcp-tokens', fields.all ? fields : { ...fields, active: true }),
        [
          { title: 'Id', of: (t) => t.id.slice(0, 13) },
          { title: 'Name', of: (t) => t.name, wide: true },
          { title: 'Agent', of: (t) => t.agentName },
          { title: 'Scopes', of: (t) => t.scopes.join(', ') },
          { title: 'Last used', of: (t) => (t.lastUsedAt ? ago(t.lastUsedAt) : 'never') },
          { title: 'Expires', of: (t) => (t.revokedAt ? 'revoked' : left(t.expiresAt)) },
        ],
        fields.all ? 'No tokens.' : 'No tokens that work. Others are listed with --all.',
      ),
  },
  {
    name: 'create',
    args: '<name>',
    about: 'Create a token for an agent; it is printed once',
    inProject: true,
    fields: [
      text('--team <team>', 'team (default: the current one)'),
      many('--scope <scope>', 'read, write, or a narrower scope such as tasks:write', 'scopes'),
      many('--toolset <name>', `only tools of this toolset: ${toolsetNames.join(', ')}`, 'toolsets'),
      reference('--agent <agent>', 'agent that uses it (default: one named after the token)', '/api/agents', 'agentId'),
      text('--client <program>', 'program that uses it, such as Codex; its agent is named after it'),
      text('--kind <kind>', 'live, or test for the sandbox'),
      count('--expires-in <days>', 'days until it expires', 'expiresInDays'),
    ],
    examples: ['tutti tokens create "CI" --scope read --expires-in 90'],
    run: async ({ client, args: [name], fields: { team, ...fields }, inProject }) => {
      const made = await makeToken(client, {
        name: name as string,
        ...fields,
        ...(team !== undefined && { organizationId: await amongMine(client, '/api/teams', 'team', String(team)) }),
        ...(await inProject()),
      })
      return {
        value: made,
        lines: [String(made.token)],
        note: 'The token is shown only once. Store it where only its agent can read it.',
      }
    },
  },
  {
    name: 'revoke',
    args: '<token>',
    about: 'Revoke a token, by its name, id or the beginning of its id',
    aliases: ['delete'],
    examples: ['tutti tokens revoke CI'],
    run: async ({ client, args: [token] }) => {
      const id = await amongMine(client, '/api/mcp-tokens', 'token', token as string, { active: true })
      return shown(await client.request('DELETE', at('/api/mcp-tokens/:id', id)), 'Token revoked.')
    },
  },
]
