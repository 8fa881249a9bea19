import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../../src/errors.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import type { McpToken, McpTokenCreated, McpTokenPage } from '../../src/features/tokens/schema.ts'
import type { Client } from '../api/client.ts'
import { changeProfiles, parseServer, type ServerChoice, signedInClient } from '../api/profiles.ts'
import { linkedProject } from '../api/project-link.ts'
import { pathTo, withQuery } from '../api/reference.ts'
import { configFolder, mcpTokenFromEnvironment } from '../terminal/environment.ts'

/**
 * MCP tokens that agents on this computer use through `tutti mcp`, by profile and project. Only its owner can read the
 * file.
 */
const tokensPath = (): string => join(configFolder(), 'mcp-tokens.json')
interface StoredToken {
  id: string
  token: string
  /** Unknown for tokens that an older version stored. */
  expiresAt?: string
}
type Tokens = Record<string, StoredToken>
type SignedIn = Pick<ReturnType<typeof signedInClient>, 'name' | 'profile'>

/** The user is part of the key, so that no one uses the token of a user who was signed in before. */
const ownerOf = ({ name, profile }: SignedIn): string => `${profile.server} ${name} ${profile.user?.id ?? ''}`
const keyOf = (who: SignedIn): string => `${ownerOf(who)} ${linkedProject(who.profile.server)?.project ?? ''}`.trimEnd()

function storedTokens(): Tokens {
  try {
    return JSON.parse(readFileSync(tokensPath(), 'utf8')) as Tokens
  } catch {
    return {}
  }
}

/** Runs in one process at a time, so that none overwrites what another has just stored. */
const changeTokens = (work: (tokens: Tokens) => void): Promise<void> =>
  changeProfiles(() => {
    const tokens = storedTokens()
    work(tokens)
    const fresh = `${tokensPath()}.${process.pid}`
    writeFileSync(fresh, `${JSON.stringify(tokens, null, 2)}\n`, { mode: 0o600, flush: true })
    renameSync(fresh, tokensPath())
  })

/** A stored token is replaced this long before it expires. */
const EARLY_MS = 7 * 86_400_000
const expiresSoon = ({ expiresAt }: StoredToken): boolean =>
  expiresAt !== undefined && Date.parse(expiresAt) - EARLY_MS < Date.now()

interface TokenRequest {
  name: string
  client?: string
  expiresInDays?: number
  organizationId?: string
  /** The only projects that it sees. */
  projects?: string[]
  /** The default project, by the name that older servers know too. */
  projectId?: string
  scopes?: string[]
  toolsets?: string[]
}

/** Returns a token from the environment, a stored one, or a new one for the user who is signed in. */
export async function mcpCredential(where: ServerChoice): Promise<{ server: string; token: string; id?: string }> {
  const given = mcpTokenFromEnvironment()
  if (given && where.server) return { server: parseServer(where.server), token: given }
  const who = signedInClient(where)
  const { server } = who.client
  const stored = storedTokens()[keyOf(who)]
  if (given) return { server, token: given }
  if (stored && !expiresSoon(stored)) return { server, token: stored.token, id: stored.id }
  const renewed = await storeNewToken(who).catch((error: unknown) => {
    // The stored one may still work.
    if (stored) return stored
    throw error
  })
  return { server, token: renewed.token, id: renewed.id }
}

/** Creates and stores a token for `tutti mcp` in this folder, and revokes the one it replaces. */
export async function storeNewToken(
  who: ReturnType<typeof signedInClient>,
  expiresInDays?: number,
): Promise<Required<StoredToken>> {
  const { client } = who
  const projectId = linkedProject(client.server)?.project
  const made = await createToken(client, {
    name: hostname(),
    ...(projectId && { projectId }),
    ...(expiresInDays && { expiresInDays }),
  })
  const fresh = { id: made.id, token: String(made.token), expiresAt: made.expiresAt }
  const before = storedTokens()[keyOf(who)]
  await changeTokens((tokens) => {
    tokens[keyOf(who)] = fresh
  })
  await revokeToken(client, before)
  return fresh
}

/** Revokes the user's token with this secret, if the server has one. Its lists show only the end of a secret. */
export async function revokeSecret(client: Client, secret: string): Promise<void> {
  const same: McpToken[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await client.get<McpTokenPage>(withQuery('/api/mcp-tokens', { limit: 200, cursor }))
    same.push(
      ...page.items.filter(
        ({ prefix, last4, revokedAt }) => !revokedAt && secret.startsWith(prefix) && secret.endsWith(last4),
      ),
    )
    cursor = page.nextCursor
  }
  if (same.length === 1) await revokeToken(client, { id: (same[0] as McpToken).id })
}

export const revokeToken = (client: Client, token: Pick<StoredToken, 'id'> | undefined): Promise<unknown> =>
  token ? client.request('DELETE', pathTo('/api/mcp-tokens/:id', token.id)).catch(() => undefined) : Promise.resolve()

/** Revokes the tokens of a user who signs out. Must run before the session ends, which it needs. */
export async function forgetTokens(who: SignedIn, client: Client): Promise<void> {
  const own = Object.entries(storedTokens()).filter(([key]) => `${key} `.startsWith(`${ownerOf(who)} `))
  if (own.length === 0) return
  await changeTokens((tokens) => {
    for (const [key] of own) delete tokens[key]
  })
  for (const [, token] of own) await revokeToken(client, token)
}

/** Creates an MCP token (default: for the current team). */
export async function createToken(client: Client, wanted: TokenRequest): Promise<McpTokenCreated> {
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
