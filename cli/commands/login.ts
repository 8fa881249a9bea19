import { hostname } from 'node:os'
import { secretKind } from '../../src/auth/secrets.ts'
import { AppError, isUnavailable } from '../../src/errors.ts'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import type { DeviceStarted } from '../../src/features/devices/schema.ts'
import type { User } from '../../src/features/users/schema.ts'
import { Client, type Credential } from '../api/client.ts'
import {
  changeProfiles,
  isLocal,
  memoryCredentials,
  type Profile,
  type Profiles,
  parseServer,
  selectProfile,
} from '../api/profiles.ts'
import { hasBrowser } from '../terminal/environment.ts'
import { bold, dim, printNote, printResult, safeLine } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'

interface Options {
  profile?: string
  browser: boolean
  withToken?: boolean
  json?: boolean
}

const LOCAL = 'http://localhost:4242'
const INTERVAL = 5
const SLOWER = 5
/** Longest pause between two attempts while the server cannot be reached. */
const MAX_WAIT_MS = 60_000

export async function login(
  address: string | undefined,
  { profile: name, browser, withToken, json }: Options,
): Promise<void> {
  // Fails here if credentials cannot be stored, before the user is asked to approve anything.
  const profiles = await changeProfiles((profiles) => profiles)
  const server = address === undefined ? defaultServer(profiles, name) : parseServer(address)
  if (name !== undefined && !/^[\w.:-]{1,100}$/.test(name))
    throw new Refusal('A profile name may contain only letters, digits and . : _ -')
  const { protocol, hostname: host } = new URL(server)
  if (protocol === 'http:' && !isLocal(host))
    printNote(
      `Warning: the connection to ${server} is not encrypted. ` +
        `Others on the network can read it and take over your session.`,
    )
  const profile = withToken ? await signInWithKey(server) : await signInByCode(server, browser)
  const called = name ?? new URL(server).host
  const before = await changeProfiles((profiles) => {
    const earlier = profiles.all.get(called)
    const same = earlier?.server === server && earlier.user?.id === profile.user?.id
    profiles.all.set(called, same ? { ...profile, team: earlier.team } : profile)
    profiles.current = called
    return earlier
  })
  await endSession(before).catch(() => undefined)
  const { user = null } = profile
  const who = user ? `as ${bold(safeLine(user.name))} <${safeLine(user.email)}>` : 'with an API key'
  printResult(
    json,
    { profile: called, server, user, credential: { kind: profile.kind } },
    `Signed in to ${server} ${who}.`,
  )
}

/** Returns the server last used, or last used under this name (default: the server on this computer). */
function defaultServer(profiles: Profiles, name: string | undefined): string {
  const known = name === undefined ? selectProfile({}, profiles)?.[1] : profiles.all.get(name)
  return known?.server ?? LOCAL
}

/** Ends the session on the server. An API key stays, because others may use it. */
async function endSession(profile: Profile | undefined): Promise<void> {
  if (profile?.kind === 'device' && profile.token)
    await new Client(profile.server, memoryCredentials(profile as Credential)).post('/api/auth/logout')
}

// ---- with an API key

async function signInWithKey(server: string): Promise<Profile> {
  if (process.stdin.isTTY) printNote('Paste an API key (svc_…), then press Enter and Ctrl-D:')
  const token = (await Bun.stdin.text()).trim()
  const kind = secretKind(token)
  if (kind === 'mcp_live' || kind === 'mcp_test')
    throw new Refusal('This is an MCP token, which works only on /mcp. Create an API key instead.')
  if (kind !== 'api_key') throw new Refusal('Standard input is not a complete API key (svc_…).')
  const client = new Client(server, memoryCredentials({ token }))
  const user = await client.get<User>('/api/auth/me').catch((error: unknown) => {
    // A key with few scopes may not be allowed to read its user.
    if (error instanceof AppError && error.code === 'forbidden') return undefined
    throw error
  })
  return { server, kind: 'api_key', token, user: user && { id: user.id, name: user.name, email: user.email } }
}

// ---- by a code (RFC 8628)

async function signInByCode(server: string, browser: boolean): Promise<Profile> {
  const stop = () => {
    printNote('\nNot signed in.')
    process.exit(130)
  }
  process.once('SIGINT', stop)
  const client = new Client(server)
  const device = `tutti on ${hostname() || 'this machine'}`.slice(0, 100)
  const started = await client.post<DeviceStarted>('/api/auth/device/request', { clientName: device })
  const page = URL.parse(started.verificationUri)
  if (!page || !/^https?:$/.test(page.protocol))
    throw new AppError('upstream_failed', `${server} returned no page for approving the sign-in.`)
  if (typeof started.userCode !== 'string' || !(started.expiresIn > 0))
    throw new AppError('upstream_failed', `${server} returned no valid code. Is this program up to date?`)
  printNote(`To sign in to ${server}, open this page and enter the code:\n`)
  printNote(`  ${page.href}\n  ${bold(safeLine(started.userCode), 2)}\n`)
  if (browser && hasBrowser()) openBrowser(page.href)
  printNote(dim(`Waiting up to ${Math.round(started.expiresIn / 60)} minutes. Press Ctrl-C to stop.`, 2))
  const { token, refreshToken, expiresAt, user } = await waitForApproval(client, started)
  process.off('SIGINT', stop)
  return {
    server,
    kind: 'device',
    device,
    token,
    refreshToken,
    expiresAt,
    user: { id: user.id, name: user.name, email: user.email },
  }
}

async function waitForApproval(client: Client, { deviceCode, expiresIn, interval }: DeviceStarted): Promise<SignedIn> {
  const until = performance.now() + expiresIn * 1000
  // The default of RFC 8628, if the server sends no usable interval.
  let seconds = interval >= 1 ? interval : INTERVAL
  let failures = 0
  for (;;) {
    const left = until - performance.now()
    const pause = Math.min(seconds * 2 ** failures * 1000, MAX_WAIT_MS)
    await Bun.sleep(Math.min(pause, Math.max(0, left)))
    if (pause >= left) throw expiredError()
    try {
      return await client.post<SignedIn>('/api/auth/device/poll', { deviceCode })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const { code, details } = error
      const reason = details.error
      // A restarting server or a dropped connection is no reason to give up: it retries with growing pauses.
      const passes = isUnavailable(code) || code === 'rate_limited'
      if (!passes && !reason) throw error
      failures = passes ? failures + 1 : 0
      if (reason === 'slow_down') seconds += SLOWER
      if (reason === 'access_denied') throw new AppError('forbidden', 'The sign-in was denied.')
      if (reason === 'expired_token') throw expiredError()
    }
  }
}

const expiredError = () => new AppError('gone', 'The code expired before it was approved. Run tutti login again.')

/** Opens a browser. Uses no shell, which could interpret parts of the address as commands. */
function openBrowser(address: string): void {
  const command = { darwin: ['open'], win32: ['rundll32', 'url.dll,FileProtocolHandler'] }[
    process.platform as string
  ] ?? ['xdg-open']
  try {
    Bun.spawn([...command, address], { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' }).unref()
  } catch {
    // The user can open the printed address themselves.
  }
}
