import { statSync } from 'node:fs'
import { AppError, isUnavailable } from '../../../src/errors.ts'
import type { Organization } from '../../../src/features/organizations/schema.ts'
import type { Client } from '../../api/client.ts'
import { stopSignal } from '../../api/events.ts'
import { acquireLock, type ServerChoice } from '../../api/profiles.ts'
import { findProjectId, pathTo } from '../../api/reference.ts'
import { copyOwner, signedInOrCarried } from '../../copy/client.ts'
import { Copy } from '../../copy/copy.ts'
import { watchCopy } from '../../copy/copy-watch.ts'
import { type ExchangeResult, exchangeWithServer, registerDevice } from '../../copy/exchange.ts'
import { copyPath, hasCopy, type Owner } from '../../copy/owner.ts'
import { pluralize, printNote, printResult, recordLines, safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { timeAgo } from '../../terminal/times.ts'

export interface SyncOptions extends ServerChoice {
  json?: boolean
}

interface OpenCopy {
  client: Client
  copy: Copy
  owner: Owner
  /** The server is reached with bundles only. */
  isCarried: boolean
}

/** Opens the copy of the user who is signed in. `local`: the command needs no server. */
export async function openCopy(
  where: ServerChoice,
  { create, local }: { create?: true; local?: true } = {},
): Promise<OpenCopy> {
  const who = signedInOrCarried(where)
  const isCarried = who.profile.kind === 'carried'
  if (isCarried && !local)
    throw new Refusal(
      'This computer reaches the server only through bundles. Use tutti sync export, carry and import.',
      6,
    )
  const owner = copyOwner(who)
  if (!owner)
    throw new Refusal(
      'This API key has no permission to read its user, so it cannot have a copy. Sign in: tutti login',
      3,
    )
  if (!create && !hasCopy(owner))
    throw new Refusal('There is no copy of this server on this computer. Create one: tutti sync on', 4)
  return { client: who.client, copy: new Copy(owner), owner, isCarried }
}

/** Exchanges changes with the server. Other processes that want to do so at the same time wait. */
export async function exchangeChanges({ client, copy, owner }: OpenCopy): Promise<ExchangeResult> {
  const unlock = await acquireLock(`${copyPath(owner)}.lock`)
  try {
    const done = await exchangeWithServer(copy, client)
    if (client.team === undefined) await rememberTeam(copy, client)
    return done
  } finally {
    unlock()
  }
}

/** Stores the team that the user has chosen on the server, so that offline lists show the same team. */
async function rememberTeam(copy: Copy, client: Client): Promise<void> {
  const team = await client.get<Organization>('/api/team').catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'forbidden') return undefined
    throw error
  })
  if (team) copy.set('team', team.id)
}

function reportExchange(json: boolean | undefined, copy: Copy, done: ExchangeResult): void {
  const queued = copy.queue().length
  printResult(
    json,
    { ...done, queued, pulledAt: copy.get('pulledAt') ?? null },
    `Sent ${pluralize(done.pushed, 'change')}, received ${pluralize(done.changed + done.deleted, 'record')}.`,
  )
  if (json) return
  if (done.conflicts > 0)
    printNote(`${pluralize(done.conflicts, 'conflict')}. Show and resolve them with: tutti sync conflicts`)
  if (done.rejected > 0)
    printNote(`The server rejected ${pluralize(done.rejected, 'change')}. Show why with: tutti sync rejected`)
  if (done.repaired.length > 0)
    printNote(
      'The copy differed from the server and was downloaded again. Please report this with the output of: tutti sync status --json',
    )
}

export async function syncCopy({ json, watch, ...where }: SyncOptions & { watch?: boolean }): Promise<void> {
  const all = await openCopy(where)
  // Before the first exchange, so that Ctrl-C does not interrupt it.
  const stop = watch && stopSignal()
  reportExchange(json, all.copy, await exchangeChanges(all))
  if (!stop) return
  if (!json) printNote('Watching for changes. Press Ctrl-C to stop.')
  let wasAway = false
  for await (const _ of watchCopy(all.client, all.copy, stop)) {
    const done = await exchangeChanges(all).catch(awayError)
    if (done instanceof AppError !== wasAway && !json)
      printNote(
        done instanceof AppError ? `${done.message} Syncing continues when the server responds.` : 'Syncing again.',
      )
    wasAway = done instanceof AppError
    if (done instanceof AppError) continue
    if (done.pushed > 0 || done.changed > 0 || done.deleted > 0) reportExchange(json, all.copy, done)
  }
}

/** Returns the error of a temporary outage, during which watching continues; throws any other error. */
function awayError(error: unknown): AppError {
  if (error instanceof AppError && (isUnavailable(error.code) || error.code === 'rate_limited')) return error
  throw error
}

export async function createCopy({ json, project, ...where }: SyncOptions & { project?: string[] }): Promise<void> {
  const all = await openCopy(where, { create: true })
  const { client, copy } = all
  const before = copy.get('deviceId')
  try {
    const only = await Promise.all((project ?? []).map(async (ref) => `project:${await findProjectId(client, ref)}`))
    copy.set('only', only.length > 0 ? JSON.stringify(only) : undefined)
    await registerDevice(copy, client)
    const done = await exchangeChanges(all)
    const held = copy.one<{ count: number }>('select count(*) count from records where shadow is not null')?.count ?? 0
    printResult(
      json,
      { ...done, path: copy.path, records: held, only },
      `The copy of ${safeLine(client.server)} on this computer now has ${pluralize(held, 'record')}.`,
    )
    if (!json) printNote('Update it with: tutti sync')
  } catch (error) {
    // A copy that never worked is not left behind.
    if (before === undefined && copy.get('cursor') === undefined && copy.queue().length === 0) copy.delete()
    throw error
  }
}

export async function removeCopy({ json, yes, ...where }: SyncOptions & { yes?: boolean }): Promise<void> {
  const { client, copy, owner, isCarried } = await openCopy(where, { local: true })
  const queued = copy.queue().filter(({ state }) => state !== 'acked').length
  const rejected = copy.one<{ count: number }>('select count(*) count from rejected')?.count ?? 0
  if ((queued > 0 || rejected > 0) && !yes)
    throw new Refusal(
      `This would discard ${pluralize(queued, 'unsent change')} and ${pluralize(rejected, 'rejected change')}. ` +
        'Send them first (tutti sync), or discard them: tutti sync off --yes',
      5,
    )
  const device = copy.get('deviceId')
  const ended = device && !isCarried ? await endDevice(client, device) : !isCarried
  copy.delete()
  printResult(json, { path: copyPath(owner), device: device ?? null, ended }, 'Deleted the copy on this computer.')
  if (!ended && !json) printNote('The server could not be reached, so it still lists this device.')
}

/** Ends the device on the server, which knows it by the session of this profile. Returns whether that worked. */
const endDevice = (client: Client, device: string): Promise<boolean> =>
  client.request('DELETE', pathTo('/api/sync/devices/:id', device)).then(
    () => true,
    (error: unknown) => error instanceof AppError && error.code === 'not_found',
  )

export async function syncStatus({ json, ...where }: SyncOptions): Promise<void> {
  const { client, copy, isCarried } = await openCopy(where, { local: true })
  const count = (table: string) => copy.one<{ count: number }>(`select count(*) count from ${table}`)?.count ?? 0
  const server = isCarried ? null : await serverStatus(client)
  const pulledAt = copy.get('pulledAt') ?? null
  const value = {
    path: copy.path,
    bytes: statSync(copy.path).size,
    deviceId: copy.get('deviceId') ?? null,
    complete: copy.get('complete') === 'yes',
    pulledAt,
    containers: copy.containers,
    records: copy.one<{ count: number }>('select count(*) count from records where shadow is not null')?.count ?? 0,
    queued: count('queue'),
    rejected: count('rejected'),
    server,
  }
  const ofKind = (kind: string, what: string): string[] => {
    const held = copy.containers.filter((name) => name.startsWith(`${kind}:`)).length
    return held > 0 ? [pluralize(held, what)] : []
  }
  const places = [...ofKind('organization', 'team'), ...ofKind('project', 'project')]
  const lines = recordLines({
    Server: `${client.server}${server ? '' : isCarried ? ', reached only through bundles' : ', cannot be reached'}`,
    Copy: value.path,
    Records: [value.records, places.join(' and ')].filter((part) => part !== '').join(' in '),
    'Last synced': pulledAt ? timeAgo(pulledAt) : 'never completely',
    Queued: pluralize(value.queued, 'change'),
    Rejected: value.rejected > 0 ? `${pluralize(value.rejected, 'change')} (tutti sync rejected)` : '',
    Conflicts: server?.openConflicts ? `${server.openConflicts} (tutti sync conflicts)` : '',
    Device: value.deviceId,
  })
  printResult(json, value, ...lines)
}

/** Returns what the server knows; null if it cannot be reached. */
const serverStatus = (client: Client): Promise<{ openConflicts?: number } | null> =>
  client.get<{ openConflicts?: number }>('/api/sync/status').catch((error: unknown) => {
    if (error instanceof AppError && isUnavailable(error.code)) return null
    throw error
  })
