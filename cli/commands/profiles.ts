import { AppError } from '../../src/errors.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import type { User } from '../../src/features/users/schema.ts'
import { forgetTokens } from '../agents/mcp-token.ts'
import { Client, type Credential, fetchHealth } from '../api/client.ts'
import {
  changeProfiles,
  memoryCredentials,
  type Profile,
  parseServer,
  readProfiles,
  type ServerChoice,
  selectProfile,
  signedInClient,
  signedOutError,
} from '../api/profiles.ts'
import { copyOwner } from '../copy/client.ts'
import { hasCopy } from '../copy/owner.ts'
import { bold, dim, printNote, printResult, safeLine, tableLines } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { exitCodeOf } from '../terminal/report.ts'

interface Options extends ServerChoice {
  json?: boolean
}

const displayName = ({ name, email }: Pick<User, 'name' | 'email'>): string =>
  `${bold(safeLine(name))} <${safeLine(email)}>`

/** Returns null if the user has no permission. */
const ifAllowed = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'forbidden') return null
    throw error
  })

export async function showUser({ json, ...where }: Options): Promise<void> {
  const { name: called, profile, client } = signedInClient(where)
  const user = await ifAllowed(client.get<User>('/api/auth/me'))
  const team = await ifAllowed(client.get<Organization>('/api/team'))
  const { kind, server } = profile
  const device = profile.device ?? null
  printResult(
    json,
    {
      profile: called,
      server,
      user: user && { id: user.id, name: user.name, email: user.email, handle: user.handle, role: user.role },
      team: team && { id: team.id, name: team.name, slug: team.slug, role: team.role },
      credential: { kind, device },
    },
    user
      ? `${displayName(user)}${user.role === 'admin' ? ', administrator' : ''}`
      : dim('This API key has no permission to read its user.'),
    `Server     ${server}${called === new URL(server).host ? '' : ` (${called})`}`,
    `Team       ${team ? safeLine(team.name) : '-'}`,
    `Signed in  ${kind === 'device' ? `as ${device ?? 'a device'}` : 'with an API key'}`,
  )
}

async function resultOrError<T>(work: () => Promise<T>): Promise<T | AppError> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

export async function showStatus({ json, ...where }: Options): Promise<void> {
  const [called = null, profile] = selectProfile(where) ?? []
  const server = profile?.server ?? (where.server === undefined ? undefined : parseServer(where.server))
  if (!server) throw signedOutError()
  const found = await resultOrError(() => fetchHealth(server))
  const me =
    found instanceof AppError
      ? found
      : await resultOrError(() => ifAllowed(signedInClient(where).client.get<User>('/api/auth/me')))
  const problem = me instanceof AppError ? me : undefined
  const there = found instanceof AppError ? { status: null, version: null } : found
  const reachable = !(found instanceof AppError)
  const signedIn = !problem ? true : problem.code === 'unauthenticated' ? false : null
  const user = me instanceof AppError ? null : me && { id: me.id, name: me.name, email: me.email }
  printResult(
    json,
    { profile: called, server, reachable, status: there.status, version: there.version, signedIn, user },
    ...(reachable
      ? [`${server} runs Tutti ${there.version}${there.status === 'ok' ? '' : ` (status: ${there.status})`}.`]
      : []),
    ...(signedIn ? [user ? `Signed in as ${displayName(user)}.` : 'Signed in with an API key.'] : []),
  )
  if (problem && !json) console.error(`tutti: ${problem.message}`)
  if (problem) process.exitCode = exitCodeOf(problem.code)
}

export async function logout({ json, ...where }: Options): Promise<void> {
  const gone = await changeProfiles((profiles) => {
    const [called, profile] = selectProfile(where, profiles) ?? []
    if (!called) return undefined
    profiles.all.delete(called)
    if (profiles.current === called) profiles.current = null
    return { called, profile }
  })
  if (!gone?.profile) throw new AppError('unauthenticated', 'You are not signed in.')
  const { called, profile } = gone
  const { server, kind } = profile
  const copy = await deleteCopy(profile)
  // The credentials are deleted here in any case. A session that has already ended is not an error.
  const failed = await endSessionAndTokens(called, profile).catch((error: unknown) =>
    error instanceof AppError && error.code === 'unauthenticated' ? undefined : error,
  )
  if (failed)
    throw new Refusal(
      `Signed out on this computer, but the session is still valid on ${server}, ` +
        `which could not be reached: ${(failed as Error).message}`,
      6,
    )
  if (copy && !json) printNote(copy)
  const more = kind === 'api_key' ? ' The API key still works; revoke it on the server if it is no longer needed.' : ''
  printResult(json, { profile: called, server, signedOut: true }, `Signed out of ${server}.${more}`)
}

/** Deletes the copy of the server. Keeps one with unsent changes, and returns a note about it. */
async function deleteCopy(profile: Profile): Promise<string | undefined> {
  const owner = copyOwner({ profile })
  if (!owner || !hasCopy(owner)) return undefined
  const { Copy } = await import('../copy/copy.ts')
  const copy = new Copy(owner)
  const open = copy.queue().filter(({ state }) => state !== 'acked').length
  if (open === 0) copy.delete()
  else copy.close()
  return open === 0 ? undefined : `${open} changes were not sent and stay in ${copy.path}. Sign in again to send them.`
}

/**
 * Ends the session and the tokens it created for agents on this computer. An API key stays, because others may use it.
 */
async function endSessionAndTokens(name: string, profile: Profile): Promise<void> {
  if (profile.kind !== 'device' || !profile.token) return
  const client = new Client(profile.server, memoryCredentials(profile as Credential))
  await forgetTokens({ name, profile }, client)
  await client.post('/api/auth/logout')
}

export function listProfiles({ json }: Options): void {
  const { current, all } = readProfiles()
  const items = [...all].map(([called, { server, kind, user = null, token }]) => ({
    name: called,
    server,
    kind,
    user,
    signedIn: !!token,
  }))
  const lines = tableLines(items, [
    { title: 'Profile', of: (p) => p.name },
    { title: 'Server', of: (p) => p.server, wide: true },
    { title: 'You', of: (p) => (p.signedIn ? (p.user?.email ?? 'API key') : 'signed out') },
    { title: 'Current', of: (p) => (p.name === current ? 'yes' : null) },
  ])
  printResult(json, { current, items }, ...(items.length > 0 ? lines : []))
  if (items.length === 0 && !json) printNote('You are not signed in to any server. Run: tutti login <address>')
}

export async function useProfile(wanted: string, { json }: Options): Promise<void> {
  const server = await changeProfiles((profiles) => {
    const [called, profile] = selectProfile({ profile: wanted }, profiles) as [string, { server: string }]
    profiles.current = called
    return profile.server
  })
  printResult(json, { current: wanted, server }, `Commands now use ${server}.`)
}
