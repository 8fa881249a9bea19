import type { McpToken, McpTokenDetail } from '../../../src/features/tokens/schema.ts'
import { toolsetNames } from '../../../src/mcp/toolsets.ts'
import { createToken } from '../../agents/mcp-token.ts'
import type { Client } from '../../api/client.ts'
import { findOwnId, findProjectId, pathTo } from '../../api/reference.ts'
import { pluralize, recordLines } from '../../terminal/output.ts'
import { timeAgo, timeLeft } from '../../terminal/times.ts'
import { count, flag, many, outputOf, reference, text, type Verb } from '../noun.ts'
import { fetchPages, listOutput, paging, sorting } from '../resource.ts'

/** `Claude Code 2.1.40`, as the program called itself when it connected. */
const programOf = ({ client }: McpToken): string | null =>
  client && [client.name, client.version].filter((word) => word !== null).join(' ')
const lastUseText = (at: string | null): string => (at ? timeAgo(at) : 'never')
const validity = ({ revokedAt, expiresAt }: McpToken): string => (revokedAt ? 'revoked' : timeLeft(expiresAt))

/** For lists, where a column of its own would not fit. */
const limitInShort = ({ projects = null }: Partial<McpToken>): string[] =>
  projects === null ? [] : [pluralize(projects.length, 'project')]

const findProjectIds = (client: Client, refs: readonly string[]): Promise<string[]> =>
  Promise.all(refs.map((ref) => findProjectId(client, ref)))

/** Describes the access of a new token, because a default project does not limit it. */
const accessNote = ({ projects = null }: Partial<McpToken>): string =>
  projects === null
    ? 'It has access to every project of the team that you have access to. To limit it, use --project.'
    : `It has access to ${projects.length === 1 ? 'this project' : `these ${projects.length} projects`} only.`

/** Returns the keys of the projects that a token is limited to; the id of one that is gone. */
async function projectLimit(client: Client, { projects = null }: Partial<McpToken>): Promise<string> {
  if (projects === null) return 'all'
  const keys = projects.map((id) =>
    client.get<{ key: string }>(pathTo('/api/projects/:id', id)).then(
      ({ key }) => key,
      () => id,
    ),
  )
  return (await Promise.all(keys)).join(', ') || 'none'
}

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List your active MCP tokens',
    aliases: ['ls'],
    fields: [
      ...sorting('createdAt', 'name'),
      ...paging.map((field) =>
        field.flag === '--all' ? flag('--all', 'list all results, including revoked and expired ones') : field,
      ),
    ],
    examples: ['tutti tokens list', 'tutti tokens list --all'],
    run: async ({ client, fields }) =>
      listOutput(
        await fetchPages<McpToken>(client, '/api/mcp-tokens', fields.all ? fields : { ...fields, active: true }),
        [
          { title: 'Id', of: (t) => t.id.slice(0, 13) },
          { title: 'Name', of: (t) => t.name, wide: true },
          { title: 'Agent', of: (t) => t.agentName },
          { title: 'Program', of: programOf },
          { title: 'Scopes', of: (t) => [...t.scopes, ...limitInShort(t)].join(', ') },
          { title: 'Last used', of: (t) => lastUseText(t.lastUsedAt) },
          { title: 'Expires', of: validity },
        ],
        fields.all ? 'No tokens.' : 'No active tokens. To list revoked and expired ones, add --all.',
      ),
  },
  {
    name: 'show',
    args: '<token>',
    about: 'Show a token with its program, usage and the cost of its tools, by its name, id or the beginning of its id',
    examples: ['tutti tokens show laptop'],
    run: async ({ client, args: [token] }) => {
      const id = await findOwnId(client, '/api/mcp-tokens', 'token', token as string)
      const t = await client.get<McpTokenDetail>(pathTo('/api/mcp-tokens/:id', id))
      return outputOf(
        t,
        ...recordLines({
          Token: t.name,
          Agent: t.agentName,
          Program: programOf(t),
          Kind: t.kind,
          Scopes: t.scopes.join(', '),
          Projects: await projectLimit(client, t),
          Toolsets: t.toolsets.join(', ') || 'all',
          Tools: `${t.tools.count} (their list costs ${t.tools.tokens} tokens)`,
          'First used': lastUseText(t.firstUsedAt),
          'Last used': t.lastUsedIp ? `${lastUseText(t.lastUsedAt)} from ${t.lastUsedIp}` : lastUseText(t.lastUsedAt),
          Requests: t.useCount,
          Expires: validity(t),
          'Ends with': t.last4,
          Id: t.id,
        }),
      )
    },
  },
  {
    name: 'create',
    args: '<name>',
    about: 'Create a token for an agent; it is printed once',
    fields: [
      many('-p, --project <project>', 'limit the token to this project; the first is its default project', 'projects'),
      reference(
        '--default-project <project>',
        "default project of its calls, without a limit (default: the linked folder's project)",
        '/api/projects',
        'projectId',
      ),
      flag('--all-projects', 'ignore the project that this folder is linked to'),
      text('--team <team>', 'team (default: the current one)'),
      many('--scope <scope>', 'read, write, or a narrower scope such as tasks:write', 'scopes'),
      many('--toolset <name>', `only tools of this toolset: ${toolsetNames.join(', ')}`, 'toolsets'),
      reference(
        '--agent <agent>',
        'agent that uses the token (default: one named after the token)',
        '/api/agents',
        'agentId',
      ),
      text('--client <program>', 'program that uses the token, such as Codex; its agent is named after it'),
      text('--kind <kind>', 'live, or test for the sandbox'),
      count('--expires-in <days>', 'days until it expires', 'expiresInDays'),
    ],
    examples: ['tutti tokens create "CI" --scope read --expires-in 90', 'tutti tokens create "CI" --project web'],
    run: async ({ client, args: [name], fields: { team, projects, allProjects: _, ...fields }, inProject }) => {
      const limit = projects === undefined ? undefined : await findProjectIds(client, projects as string[])
      const usual = fields.projectId ?? limit?.[0] ?? (limit ? undefined : (await inProject()).projectId)
      const made = await createToken(client, {
        name: name as string,
        ...fields,
        ...(team !== undefined && { organizationId: await findOwnId(client, '/api/teams', 'team', String(team)) }),
        ...(limit && { projects: limit }),
        ...(usual !== undefined && { projectId: String(usual) }),
      })
      return {
        value: made,
        lines: [String(made.token)],
        note: `The token is shown only once. Store it where only its agent can read it. ${accessNote(made)}`,
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
      const id = await findOwnId(client, '/api/mcp-tokens', 'token', token as string, { active: true })
      return outputOf(await client.request('DELETE', pathTo('/api/mcp-tokens/:id', id)), 'Token revoked.')
    },
  },
]
