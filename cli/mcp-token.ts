import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../src/errors.ts'
import type { Organization } from '../src/features/organizations/schema.ts'
import type { McpTokenCreated } from '../src/features/tokens/schema.ts'
import type { Client } from './client.ts'
import { configFolder, mcpTokenFromEnvironment } from './environment.ts'
import { linkedProject } from './linked.ts'
import { serverOf, signedInClient, type Where } from './profiles.ts'

export type { Where } from './profiles.ts'

/** MCP tokens that this machine's agents use through `tutti mcp`, by server and project. Only their owner can read the file. */
const file = (): string => join(configFolder(), 'mcp-tokens.json')
type Tokens = Record<string, string>
const keyOf = (server: string, project: string | undefined): string => [server, project].filter(Boolean).join(' ')

function kept(): Tokens {
  try {
    return JSON.parse(readFileSync(file(), 'utf8')) as Tokens
  } catch {
    return {}
  }
}

function keep(key: string, token: string): void {
  mkdirSync(configFolder(), { recursive: true, mode: 0o700 })
  const fresh = `${file()}.${process.pid}`
  writeFileSync(fresh, `${JSON.stringify({ ...kept(), [key]: token }, null, 2)}\n`, { mode: 0o600, flush: true })
  renameSync(fresh, file())
}

interface Wanted {
  name: string
  organizationId?: string
  projectId?: string
}

/** From the environment, or kept from before, or made now for whoever is signed in. */
export async function mcpCredential(where: Where): Promise<{ server: string; token: string }> {
  const given = mcpTokenFromEnvironment()
  if (given && where.server) return { server: serverOf(where.server), token: given }
  const { client } = signedInClient(where)
  if (given) return { server: client.server, token: given }
  const project = linkedProject(client.server)?.project
  const before = kept()[keyOf(client.server, project)]
  if (before) return { server: client.server, token: before }
  return { server: client.server, token: await keepToken(client) }
}

/** Makes one for `tutti mcp` in this folder, in the place of the one before. */
export async function keepToken(client: Client): Promise<string> {
  const projectId = linkedProject(client.server)?.project
  const { token } = await makeToken(client, { name: `tutti mcp on ${hostname()}`, ...(projectId && { projectId }) })
  keep(keyOf(client.server, projectId), token as string)
  return token as string
}

/** For the current team unless told. */
export async function makeToken(client: Client, wanted: Wanted): Promise<McpTokenCreated> {
  try {
    const organizationId = wanted.organizationId ?? (await client.get<Organization>('/api/team')).id
    return await client.post<McpTokenCreated>('/api/mcp-tokens', { ...wanted, name: wanted.name.slice(0, 100), organizationId })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'forbidden' || client.kind !== 'api_key') throw error
    throw new AppError('forbidden', `An API key cannot make tokens for agents. Sign in yourself: tutti login ${client.server}`)
  }
}
