import { hostname } from 'node:os'
import { TUNNELS_TOOLSET } from '../../../src/auth/policy.ts'
import { type AgentClientName, clients, settingsText } from '../../../src/clients.ts'
import type { Tunnel } from '../../../src/features/tunnels/schema.ts'
import { checkSettings, findSecret, PLACEHOLDER, parseLifetime } from '../../agents/entry-checks.ts'
import { agentFiles } from '../../agents/files.ts'
import { createToken, revokeSecret, revokeToken } from '../../agents/mcp-token.ts'
import { editSettings, readSettings, valueAt, withValue, writeSettings } from '../../agents/settings-file.ts'
import type { Client } from '../../api/client.ts'
import { withHints } from '../../api/hints.ts'
import { signedInClient } from '../../api/profiles.ts'
import { pathTo } from '../../api/reference.ts'
import { bold, printResult } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { dateOf, timeLeft } from '../../terminal/times.ts'
import type { ConnectOptions } from './connect-options.ts'

/** Creates a token for one machine's MCP servers and adds one of them to the settings of an agent's program. */
export async function connectTunnel(program: AgentClientName, wanted: string, options: ConnectOptions): Promise<void> {
  const { print: printOnly, stdio, project, only, expires, toolsets, yes, json } = options
  if (stdio || project || only || toolsets)
    throw new Refusal('--tunnel cannot be combined with --stdio, --project, --only or --toolsets.')
  const [ref = '', name = '', more] = wanted.split('/')
  if (!ref || !name || more !== undefined) throw new Refusal('Name a tunnel and its MCP server: --tunnel build-1/fs')
  const agent = clients[program]
  const file = agentFiles[program].settings
  const days = parseLifetime(expires)
  const { client } = signedInClient({ profile: options.profile, server: options.server })
  const { server } = client
  const slug = await findTunnelSlug(client, ref, name)
  const path = [...agent.path.slice(0, -1), `${slug}-${name}`]
  const address = `/mcp/tunnels/${slug}/${name}`
  if (printOnly) {
    const entry = agent.http(server, PLACEHOLDER, address)
    printResult(
      json,
      { program, server, file, settings: withValue({}, path, entry) },
      settingsText({ ...agent, path }, entry),
    )
    return
  }
  await checkSettings({ path }, file, { yes })
  const earlier = findSecret(valueAt(readSettings(file), path), server + address)
  const token = await createToken(client, {
    name: `${hostname()} ${slug}/${name}`,
    client: agent.title,
    // Nothing but the tunnels of the team.
    scopes: ['tunnels:write'],
    toolsets: [TUNNELS_TOOLSET],
    ...(days && { expiresInDays: days }),
  })
  try {
    writeSettings(file, editSettings(file, path, agent.http(server, String(token.token), address)), { secret: true })
  } catch (error) {
    await revokeToken(client, token)
    throw error
  }
  if (earlier) await revokeSecret(client, earlier)
  const { expiresAt } = token
  printResult(
    json,
    { program, server, file, tunnel: slug, mcpServer: name, expiresAt },
    `${bold(agent.title)} is connected to ${name} on ${slug} as "${path.at(-1)}" (${file}).`,
    `Its token expires on ${dateOf(expiresAt)} (${timeLeft(expiresAt)}); to renew it: tutti connect ${program} --tunnel ${slug}/${name} --yes`,
  )
}

/** Returns the slug of the tunnel; refuses if its machine does not offer this MCP server. */
async function findTunnelSlug(client: Client, ref: string, name: string): Promise<string> {
  const { slug, mcpServers } = await withHints(client, () => client.get<Tunnel>(pathTo('/api/tunnels/:id', ref)))
  const names = mcpServers.map((one) => one.name)
  if (names.includes(name)) return slug
  throw new Refusal(
    names.length === 0
      ? `${slug} offers no MCP servers. On its machine, run: tutti tunnel up --mcp ${name}='<command>'`
      : `${slug} offers no MCP server ${name}. It offers: ${names.join(', ')}`,
  )
}
