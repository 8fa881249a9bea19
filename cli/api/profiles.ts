import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../src/errors.ts'
import { configFolder } from '../terminal/environment.ts'
import { Refusal } from '../terminal/refusal.ts'
import { Client, type Credential, type CredentialStore } from './client.ts'
import { linkedTeam } from './project-link.ts'

/** A server and the user's account there. Without a token, the user has signed out. */
export interface Profile extends Partial<Credential> {
  server: string
  /** `carried`: a server that this computer does not reach; bundles are carried between them. */
  kind: 'device' | 'api_key' | 'carried'
  /** Name of the session in the user's list of sessions. */
  device?: string
  user?: { id: string; name: string; email: string }
  /** The team that commands work with (default: the one chosen on the server). */
  team?: string
}

export interface Profiles {
  current: string | null
  all: Map<string, Profile>
}

/** The options that choose the server of a command. */
export interface ServerChoice {
  profile?: string
  server?: string
}

const credentialsPath = (): string => join(configFolder(), 'credentials.json')

// ---- the file

export function readProfiles(): Profiles {
  const path = credentialsPath()
  if (!existsSync(path)) return { current: null, all: new Map() }
  if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
    throw new Refusal(`${path} contains your credentials and can be read by others. Run: chmod 600 ${path}`)
  try {
    const { current, profiles } = JSON.parse(readFileSync(path, 'utf8')) as {
      current: string | null
      profiles: Record<string, Profile>
    }
    return { current, all: new Map(Object.entries(profiles)) }
  } catch (error) {
    throw new Refusal(`${path} is damaged (${(error as Error).message}). Remove it and sign in again.`)
  }
}

const profilesText = ({ current, all }: Profiles): string =>
  `${JSON.stringify({ current, profiles: Object.fromEntries(all) }, null, 2)}\n`

/** Writes the file completely or not at all. Others can never read it, not even for a moment. */
function writeProfiles(text: string): void {
  const path = credentialsPath()
  const fresh = `${path}.${process.pid}`
  try {
    // writeFileSync fails on a full disk, where a bare write would silently store only a part.
    writeFileSync(fresh, text, { mode: 0o600, flush: true })
    renameSync(fresh, path)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
}

/**
 * Changes profiles in one process at a time; others wait and then see the result. Changes are stored even if `work`
 * throws.
 */
export async function changeProfiles<T>(work: (profiles: Profiles) => Promise<T> | T): Promise<T> {
  const folder = configFolder()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  const unlock = await acquireLock(join(folder, 'credentials.lock'))
  try {
    const profiles = readProfiles()
    const before = profilesText(profiles)
    try {
      return await work(profiles)
    } finally {
      const after = profilesText(profiles)
      if (after !== before) writeProfiles(after)
    }
  } finally {
    unlock()
  }
}

/** Longer than the timeout of a request that the holder of the lock may be waiting for. */
const WAIT_MS = 45_000

/** Takes a lock that the kernel releases when the process ends, however it ends, so it never becomes stale. */
export async function acquireLock(path: string): Promise<() => void> {
  const { Database } = await import('bun:sqlite')
  closeSync(openSync(path, 'a', 0o600))
  const db = new Database(path)
  for (const until = Date.now() + WAIT_MS; ; await Bun.sleep(20)) {
    try {
      db.run('BEGIN EXCLUSIVE')
      return () => db.close()
    } catch (error) {
      if ((error as { code?: string }).code === 'SQLITE_BUSY' && Date.now() < until) continue
      db.close()
      throw new AppError('unavailable', `Another tutti process holds ${path}. Try again when it has finished.`, {
        cause: error,
      })
    }
  }
}

// ---- choosing one

/** Matches names of this computer exactly, not names that only begin like one. */
export const isLocal = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

/** Accepts `tutti.example.com` too. Without a scheme it is https, or http for this computer. */
export function parseServer(text: string): string {
  const bare = /^https?:\/\//i.test(text)
    ? text
    : `${isLocal(URL.parse(`http://${text}`)?.hostname ?? '') ? 'http' : 'https'}://${text}`
  const url = URL.parse(bare)
  if (!url || url.username || url.search || url.hash || url.pathname !== '/' || /\s/.test(text))
    throw new Refusal(`${JSON.stringify(text)} is not the address of a server, such as https://tutti.example.com`)
  return url.origin
}

export function selectProfile(
  { profile, server }: ServerChoice,
  { current, all }: Profiles = readProfiles(),
): [string, Profile] | undefined {
  if (profile !== undefined) {
    const found = all.get(profile)
    const names = [...all.keys()].join(', ')
    if (!found)
      throw new Refusal(
        `Profile ${profile} not found. ${all.size ? `Your profiles: ${names}` : 'You have no profiles'}.`,
        4,
      )
    if (server !== undefined && parseServer(server) !== found.server)
      throw new Refusal(`The profile ${profile} is for ${found.server}.`)
    return [profile, found]
  }
  const chosen = current === null ? undefined : all.get(current)
  if (server === undefined) return chosen && [current as string, chosen]
  const origin = parseServer(server)
  return chosen?.server === origin ? [current as string, chosen] : [...all].find(([, p]) => p.server === origin)
}

export const signedOutError = (server?: string): AppError =>
  new AppError(
    'unauthenticated',
    `You are not signed in${server ? ` to ${server}` : ''}. Run: tutti login ${server ?? '<address>'}`,
  )

/** Returns a client for commands that need a signed-in user. */
export function signedInClient(where: ServerChoice): { name: string; profile: Profile; client: Client } {
  const [name, profile] = selectProfile(where) ?? []
  if (!name || !profile?.token) throw signedOutError(profile?.server ?? (where.server && parseServer(where.server)))
  const team = linkedTeam(profile.server) ?? profile.team
  const kind = profile.kind === 'api_key' ? 'api_key' : 'device'
  return { name, profile, client: new Client(profile.server, profileCredentials(name, profile), kind, name, team) }
}

export const chooseTeam = (name: string, team: string): Promise<void> =>
  changeProfiles(({ all }) => {
    const profile = all.get(name)
    if (profile) profile.team = team
  })

const credentialOf = ({ token, refreshToken, expiresAt }: Profile): Credential | undefined =>
  token ? { token, refreshToken, expiresAt } : undefined

function profileCredentials(name: string, profile: Profile): CredentialStore {
  let held = credentialOf(profile)
  return {
    credential: () => held,
    async renew(stale, exchange) {
      held = await changeProfiles(async ({ all }) => {
        const now = all.get(name)
        const credential = now && credentialOf(now)
        if (!now || !credential?.refreshToken) throw signedOutError(profile.server)
        // Compares refresh tokens: two renewals within a second can return the same access token.
        if (credential.refreshToken !== stale.refreshToken) return credential
        try {
          const { token, refreshToken, expiresAt } = await exchange(credential.refreshToken)
          Object.assign(now, { token, refreshToken, expiresAt })
          return { token, refreshToken, expiresAt }
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== 'unauthenticated') throw error
          deleteCredential(now)
          throw new AppError(
            'unauthenticated',
            `Your session on ${profile.server} has ended. Run: tutti login ${profile.server}`,
          )
        }
      })
      return held
    },
  }
}

const deleteCredential = (profile: Profile): void => {
  delete profile.token
  delete profile.refreshToken
  delete profile.expiresAt
}

/** Keeps a credential in memory only. */
export function memoryCredentials(first: Credential): CredentialStore {
  let held = first
  return {
    credential: () => held,
    async renew(_, exchange) {
      held = await exchange(held.refreshToken as string)
      return held
    },
  }
}
