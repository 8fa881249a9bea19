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
import { Client, type Credential, type Keeper } from './client.ts'
import { linkedTeam } from './linked.ts'

/** One server and who the user is there. Without a token he has been there, but is signed out. */
export interface Profile extends Partial<Credential> {
  server: string
  kind: 'device' | 'api_key'
  /** As the session is called in the list of the user's sessions. */
  device?: string
  user?: { id: string; name: string; email: string }
  /** The team that commands are about; the one chosen on the server unless told. */
  team?: string
}

export interface Profiles {
  current: string | null
  all: Map<string, Profile>
}

/** Which server a command talks to. */
export interface Where {
  profile?: string
  server?: string
}

const file = (): string => join(configFolder(), 'credentials.json')

// ---- the file

export function readProfiles(): Profiles {
  const path = file()
  if (!existsSync(path)) return { current: null, all: new Map() }
  if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
    throw new Refusal(`${path} holds your credentials and can be read by others. Run: chmod 600 ${path}`)
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

const textOf = ({ current, all }: Profiles): string =>
  `${JSON.stringify({ current, profiles: Object.fromEntries(all) }, null, 2)}\n`

/** Whole or not at all, and never readable by others, not even for a moment. */
function writeProfiles(text: string): void {
  const path = file()
  const fresh = `${path}.${process.pid}`
  try {
    // All of it: a bare write on a full disk writes a part, and says so to nobody who does not ask.
    writeFileSync(fresh, text, { mode: 0o600, flush: true })
    renameSync(fresh, path)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
}

/** One process at a time; another one waits and then sees what this one has written. What failing work has changed is written too. */
export async function changeProfiles<T>(work: (profiles: Profiles) => Promise<T> | T): Promise<T> {
  const folder = configFolder()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  const unlock = await lock(join(folder, 'credentials.lock'))
  try {
    const profiles = readProfiles()
    const before = textOf(profiles)
    try {
      return await work(profiles)
    } finally {
      const after = textOf(profiles)
      if (after !== before) writeProfiles(after)
    }
  } finally {
    unlock()
  }
}

/** Longer than whoever holds it can wait for its server. */
const WAIT_MS = 45_000

/** The kernel drops it when the process ends, however it ends: no stale lock ever keeps anybody out. */
async function lock(path: string): Promise<() => void> {
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
      throw new AppError('unavailable', `Another tutti holds ${path}. Try again when it is done.`, { cause: error })
    }
  }
}

// ---- choosing one

/** This machine, and not a name that only begins like it. */
export const isLocal = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

/** `tutti.example.com` is enough. Only a server on this machine is meant without encryption unless it says so. */
export function serverOf(text: string): string {
  const bare = /^https?:\/\//i.test(text)
    ? text
    : `${isLocal(URL.parse(`http://${text}`)?.hostname ?? '') ? 'http' : 'https'}://${text}`
  const url = URL.parse(bare)
  if (!url || url.username || url.search || url.hash || url.pathname !== '/' || /\s/.test(text))
    throw new Refusal(`${JSON.stringify(text)} is not the address of a server, such as https://tutti.example.com`)
  return url.origin
}

export function selectProfile(
  { profile, server }: Where,
  { current, all }: Profiles = readProfiles(),
): [string, Profile] | undefined {
  if (profile !== undefined) {
    const found = all.get(profile)
    if (!found)
      throw new Refusal(
        `There is no profile ${profile}. There ${all.size ? `are: ${[...all.keys()].join(', ')}` : 'is none'}.`,
        4,
      )
    if (server !== undefined && serverOf(server) !== found.server)
      throw new Refusal(`The profile ${profile} is for ${found.server}.`)
    return [profile, found]
  }
  const chosen = current === null ? undefined : all.get(current)
  if (server === undefined) return chosen && [current as string, chosen]
  const origin = serverOf(server)
  return chosen?.server === origin ? [current as string, chosen] : [...all].find(([, p]) => p.server === origin)
}

export const signedOut = (server?: string): AppError =>
  new AppError(
    'unauthenticated',
    `You are not signed in${server ? ` to ${server}` : ''}. Run: tutti login${server ? ` ${server}` : ' <address of your server>'}`,
  )

/** For every command that needs to be signed in. */
export function signedInClient(where: Where): { name: string; profile: Profile; client: Client } {
  const [name, profile] = selectProfile(where) ?? []
  if (!name || !profile?.token) throw signedOut(profile?.server ?? (where.server && serverOf(where.server)))
  const team = linkedTeam(profile.server) ?? profile.team
  return { name, profile, client: new Client(profile.server, stored(name, profile), profile.kind, name, team) }
}

export const chooseTeam = (name: string, team: string): Promise<void> =>
  changeProfiles(({ all }) => {
    const profile = all.get(name)
    if (profile) profile.team = team
  })

const credentialOf = ({ token, refreshToken, expiresAt }: Profile): Credential | undefined =>
  token ? { token, refreshToken, expiresAt } : undefined

function stored(name: string, profile: Profile): Keeper {
  let held = credentialOf(profile)
  return {
    credential: () => held,
    async renew(stale, exchange) {
      held = await changeProfiles(async ({ all }) => {
        const now = all.get(name)
        const credential = now && credentialOf(now)
        if (!now || !credential?.refreshToken) throw signedOut(profile.server)
        // Not the access token, which is the same again for two renewals within a second.
        if (credential.refreshToken !== stale.refreshToken) return credential
        try {
          const { token, refreshToken, expiresAt } = await exchange(credential.refreshToken)
          Object.assign(now, { token, refreshToken, expiresAt })
          return { token, refreshToken, expiresAt }
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== 'unauthenticated') throw error
          forget(now)
          throw new AppError(
            'unauthenticated',
            `Your session at ${profile.server} has ended. Run: tutti login ${profile.server}`,
          )
        }
      })
      return held
    },
  }
}

const forget = (profile: Profile): void => {
  delete profile.token
  delete profile.refreshToken
  delete profile.expiresAt
}

/** For a credential that is in no file any more. */
export function passing(first: Credential): Keeper {
  let held = first
  return {
    credential: () => held,
    async renew(_, exchange) {
      held = await exchange(held.refreshToken as string)
      return held
    },
  }
}
