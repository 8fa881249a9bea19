import { statSync } from 'node:fs'
import { AppError, isAway } from '../../src/errors.ts'
import type { Organization } from '../../src/features/organizations/schema.ts'
import type { Client } from '../api/client.ts'
import { stopSignal } from '../api/events.ts'
import { lock, type Where } from '../api/profiles.ts'
import { at, projectId } from '../api/reference.ts'
import { ownerOf, signedInOrCarried } from '../copy/client.ts'
import { Copy } from '../copy/copy.ts'
import { type Exchanged, exchange, register } from '../copy/exchange.ts'
import { hasCopy, type Owner, pathOf } from '../copy/owner.ts'
import { changesAt } from '../copy/watch.ts'
import { note, plain, pluralize, print, record } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { ago } from '../terminal/times.ts'

export interface Options extends Where {
  json?: boolean
}

interface Opened {
  client: Client
  copy: Copy
  owner: Owner
  /** The server is reached with bundles only. */
  isCarried: boolean
}

/** Opens the copy of the user who is signed in. `local`: the command needs no server. */
export async function opened(where: Where, { create, local }: { create?: true; local?: true } = {}): Promise<Opened> {
  const who = signedInOrCarried(where)
  const isCarried = who.profile.kind === 'carried'
  if (isCarried && !local)
    throw new Refusal(
      'This computer reaches the server only through bundles. Use tutti sync export, carry and import.',
      6,
    )
  const owner = ownerOf(who)
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
export async function exchanged({ client, copy, owner }: Opened): Promise<Exchanged> {
  const unlock = await lock(`${pathOf(owner)}.lock`)
  try {
    const done = await exchange(copy, client)
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

function report(json: boolean | undefined, copy: Copy, done: Exchanged): void {
  const queued = copy.queue().length
  print(
    json,
    { ...done, queued, pulledAt: copy.get('pulledAt') ?? null },
    `Sent ${pluralize(done.pushed, 'change')}, received ${pluralize(done.changed + done.deleted, 'record')}.`,
  )
  if (json) return
  if (done.conflicts > 0)
    note(`${pluralize(done.conflicts, 'conflict')}. Show and resolve them with: tutti sync conflicts`)
  if (done.rejected > 0)
    note(`The server rejected ${pluralize(done.rejected, 'change')}. Show why with: tutti sync rejected`)
  if (done.repaired.length > 0)
    note(
      'The copy differed from the server and was downloaded again. Please report this with the output of: tutti sync status --json',
    )
}

export async function sync({ json, watch, ...where }: Options & { watch?: boolean }): Promise<void> {
  const all = await opened(where)
  // Before the first exchange, so that Ctrl-C does not interrupt it.
  const stop = watch && stopSignal()
  report(json, all.copy, await exchanged(all))
  if (!stop) return
  if (!json) note('Watching for changes. Press Ctrl-C to stop.')
  let wasAway = false
  for await (const _ of changesAt(all.client, all.copy, stop)) {
    const done = await exchanged(all).catch(passing)
    if (done instanceof AppError !== wasAway && !json)
      note(done instanceof AppError ? `${done.message} Syncing continues when the server responds.` : 'Syncing again.')
    wasAway = done instanceof AppError
    if (done instanceof AppError) continue
    if (done.pushed > 0 || done.changed > 0 || done.deleted > 0) report(json, all.copy, done)
  }
}

/** Returns the error of a temporary outage, during which watching continues; throws any other error. */
function passing(error: unknown): AppError {
  if (error instanceof AppError && (isAway(error.code) || error.code === 'rate_limited')) return error
  throw error
}

export async function on({ json, project, ...where }: Options & { project?: string[] }): Promise<void> {
  const all = await opened(where, { create: true })
  const { client, copy } = all
  const before = copy.get('deviceId')
  try {
    const only = await Promise.all((project ?? []).map(async (ref) => `project:${await projectId(client, ref)}`))
    copy.set('only', only.length > 0 ? JSON.stringify(only) : undefined)
    await register(copy, client)
    const done = await exchanged(all)
    const held = copy.one<{ count: number }>('select count(*) count from records where shadow is not null')?.count ?? 0
    print(
      json,
      { ...done, path: copy.path, records: held, only },
      `The copy of ${plain(client.server)} on this computer now has ${pluralize(held, 'record')}.`,
    )
    if (!json) note('Update it with: tutti sync')
  } catch (error) {
    // A copy that never worked is not left behind.
    if (before === undefined && copy.get('cursor') === undefined && copy.queue().length === 0) copy.delete()
    throw error
  }
}

export async function off({ json, yes, ...where }: Options & { yes?: boolean }): Promise<void> {
  const { client, copy, owner, isCarried } = await opened(where, { local: true })
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
  print(json, { path: pathOf(owner), device: device ?? null, ended }, 'Deleted the copy on this computer.')
  if (!ended && !json) note('The server could not be reached, so it still lists this device.')
}

/** Ends the device on the server, which knows it by the session of this profile. Returns whether that worked. */
const endDevice = (client: Client, device: string): Promise<boolean> =>
  client.request('DELETE', at('/api/sync/devices/:id', device)).then(
    () => true,
    (error: unknown) => error instanceof AppError && error.code === 'not_found',
  )

export async function syncStatus({ json, ...where }: Options): Promise<void> {
  const { client, copy, isCarried } = await opened(where, { local: true })
  const count = (table: string) => copy.one<{ count: number }>(`select count(*) count from ${table}`)?.count ?? 0
  const server = isCarried ? null : await statusOf(client)
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
  const lines = record({
    Server: `${client.server}${server ? '' : isCarried ? ', reached only through bundles' : ', cannot be reached'}`,
    Copy: value.path,
    Records: [value.records, places.join(' and ')].filter((part) => part !== '').join(' in '),
    'Last synced': pulledAt ? ago(pulledAt) : 'never completely',
    Queued: pluralize(value.queued, 'change'),
    Rejected: value.rejected > 0 ? `${pluralize(value.rejected, 'change')} (tutti sync rejected)` : '',
    Conflicts: server?.openConflicts ? `${server.openConflicts} (tutti sync conflicts)` : '',
    Device: value.deviceId,
  })
  print(json, value, ...lines)
}

/** Returns what the server knows; null if it cannot be reached. */
const statusOf = (client: Client): Promise<{ openConflicts?: number } | null> =>
  client.get<{ openConflicts?: number }>('/api/sync/status').catch((error: unknown) => {
    if (error instanceof AppError && isAway(error.code)) return null
    throw error
  })
