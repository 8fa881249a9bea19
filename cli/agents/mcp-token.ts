import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../../src/errors.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import type { McpTokenCreated } from '../../src/features/tokens/schema.ts'
import type { Client } from '../api/client.ts'
import { linkedProject } from '../api/linked.ts'
import { changeProfiles, serverOf, signedInClient, type Where } from '../api/profiles.ts'
import { at } from '../api/reference.ts'
import { configFolder, mcpTokenFromEnvironment } from '../terminal/environment.ts'

export type { Where } from '../api/profiles.ts'

/**
 * MCP tokens that agents on this computer use through `tutti mcp`, by profile and project. Only its owner can read the
 * file.
 */
const file = (): string => join(configFolder(), 'mcp-tokens.json')
interface StoredToken {
  id: string
  token: string
}
type Tokens = Record<string, StoredToken>
type SignedIn = Pick<ReturnType<typeof signedInClient>, 'name' | 'profile'>

/** The user is part of the key, so that nobody uses a token of someone who was signed in before. */
const ownerOf = ({ name, profile }: SignedIn): string => `${profile.server} ${name} ${profile.user?.id ?? ''}`
const keyOf = (who: SignedIn): string => `${ownerOf(who)} ${linkedProject(who.profile.server)?.project ?? ''}`.trimEnd()

function storedTokens(): Tokens {
  try {
    return JSON.parse(readFileSync(file(), 'utf8')) as Tokens
  } catch {
    return {}
  }
}

/** Runs in one process at a time, so that none overwrites what another has just stored. */
const change = (work: (tokens: Tokens) => void): Promise<void> =>
  changeProfiles(() => {
    const tokens = storedTokens()
    work(tokens)
    const fresh = `${file()}.${process.pid}`
    writeFileSync(fresh, `${JSON.stringify(tokens, null, 2)}\n`, { mode: 0o600, flush: true })
    renameSync(fresh, file())
  })

interface Wanted {
  name: string
  organizationId?: string
  projectId?: string
}

/** Returns a token from the environment, a stored one, or a new one for the user who is signed in. */
export async function mcpCredential(where: Where): Promise<{ server: string; token: string }> {
  const given = mcpTokenFromEnvironment()
  if (given && where.server) return { server: serverOf(where.server), token: given }
  const who = signedInClient(where)
  const { server } = who.client
  return { server, token: given ?? storedTokens()[keyOf(who)]?.token ?? (await keepToken(who)) }
}

/** Creates and stores a token for `tutti mcp` in this folder, and revokes the one it replaces. */
export async function keepToken(who: ReturnType<typeof signedInClient>): Promise<string> {
  const { client } = who
  const projectId = linkedProject(client.server)?.project
  const { id, token } = (await makeToken(client, {
    name: `tutti mcp on ${hostname()}`,
    ...(projectId && { projectId }),
  })) as StoredToken
  const before = storedTokens()[keyOf(who)]
  await change((tokens) => {
    tokens[keyOf(who)] = { id, token }
  })
  await revoke(client, before)
  return token
}

const revoke = (client: Client, token: StoredToken | undefined): Promise<unknown> =>
  token ? client.request('DELETE', at('/api/mcp-tokens/:id', token.id)).catch(() => undefined) : Promise.resolve()

/** Revokes the tokens of a user who signs out. Must run before the session ends, which it needs. */
export async function forgetTokens(who: SignedIn, client: Client): Promise<void> {
  const own = Object.entries(storedTokens()).filter(([key]) => `${key} `.startsWith(`${ownerOf(who)} `))
  if (own.length === 0) return
  await change((tokens) => {
    for (const [key] of own) delete tokens[key]
  })
  for (const [, token] of own) await revoke(client, token)
}

/** Creates an MCP token (default: for the current team). */
export async function makeToken(client: Client, wanted: Wanted): Promise<McpTokenCreated> {
  try {
    const organizationId = wanted.organizationId ?? (await client.get<Organization>('/api/team')).id
    return await client.post<McpTokenCreated>('/api/mcp-tokens', {
      ...wanted,
      name: wanted.name.slice(0, 100),
      organizationId,
    })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'forbidden' || client.kind !== 'api_key') throw error
    throw new AppError(
      'forbidden',
      `An API key cannot create tokens for agents. Sign in as a user: tutti login ${client.server}`,
    )
  }
}
