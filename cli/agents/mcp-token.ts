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

/** MCP tokens that this machine's agents use through `tutti mcp`, by sign-in and project. Only their owner can read the file. */
const file = (): string => join(configFolder(), 'mcp-tokens.json')
interface Kept {
  id: string
  token: string
}
type Tokens = Record<string, Kept>
type SignedIn = Pick<ReturnType<typeof signedInClient>, 'name' | 'profile'>

/** Whoever signs in after somebody else, or beside, speaks as himself. */
const ownerOf = ({ name, profile }: SignedIn): string => `${profile.server} ${name} ${profile.user?.id ?? ''}`
const keyOf = (who: SignedIn): string => `${ownerOf(who)} ${linkedProject(who.profile.server)?.project ?? ''}`.trimEnd()

function kept(): Tokens {
  try {
    return JSON.parse(readFileSync(file(), 'utf8')) as Tokens
  } catch {
    return {}
  }
}

/** One process at a time: none forgets what another has just kept. */
const change = (work: (tokens: Tokens) => void): Promise<void> =>
  changeProfiles(() => {
    const tokens = kept()
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

/** From the environment, or kept from before, or made now for whoever is signed in. */
export async function mcpCredential(where: Where): Promise<{ server: string; token: string }> {
  const given = mcpTokenFromEnvironment()
  if (given && where.server) return { server: serverOf(where.server), token: given }
  const who = signedInClient(where)
  const { server } = who.client
  return { server, token: given ?? kept()[keyOf(who)]?.token ?? (await keepToken(who)) }
}

/** Makes one for `tutti mcp` in this folder, in the place of the one before, which then works no more. */
export async function keepToken(who: ReturnType<typeof signedInClient>): Promise<string> {
  const { client } = who
  const projectId = linkedProject(client.server)?.project
  const { id, token } = (await makeToken(client, {
    name: `tutti mcp on ${hostname()}`,
    ...(projectId && { projectId }),
  })) as Kept
  const before = kept()[keyOf(who)]
  await change((tokens) => {
    tokens[keyOf(who)] = { id, token }
  })
  await revoke(client, before)
  return token
}

const revoke = (client: Client, token: Kept | undefined): Promise<unknown> =>
  token ? client.request('DELETE', at('/api/mcp-tokens/:id', token.id)).catch(() => undefined) : Promise.resolve()

/** When he signs out: nobody on this machine speaks for him any more. Needs the session, so it comes before that ends. */
export async function forgetTokens(who: SignedIn, client: Client): Promise<void> {
  const own = Object.entries(kept()).filter(([key]) => `${key} `.startsWith(`${ownerOf(who)} `))
  if (own.length === 0) return
  await change((tokens) => {
    for (const [key] of own) delete tokens[key]
  })
  for (const [, token] of own) await revoke(client, token)
}

/** For the current team unless told. */
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
      `An API key cannot make tokens for agents. Sign in yourself: tutti login ${client.server}`,
    )
  }
}
