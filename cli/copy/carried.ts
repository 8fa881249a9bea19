import { hostname } from 'node:os'
import { fingerprint, type Keys, keysOf, newSeeds, open, pack, rawPublic } from '../../src/auth/bundle.ts'
import { AppError } from '../../src/errors.ts'
import type { Copy } from './copy.ts'
import { sent } from './mutation.ts'
import { acknowledge, applyPage, type Page, type Receipt, SCHEMA } from './pages.ts'

/** The first line of a bundle to the server; the changes follow, one a line. */
interface Request {
  schema: string
  platform: string
  /** Only these containers. */
  only?: string[]
  /** How far the device has pulled. None: it wants everything. */
  cursor?: string
}

/** The first line of a bundle from the server; the pages follow, one a line. */
interface Response {
  deviceId: string
  user: { id: string; name: string; email: string }
  /** The team that the user has chosen on the server. */
  team?: string
  receipts: Receipt[]
  /** The pages begin with everything, although the device had asked for what changed. */
  fresh: boolean
}

function keysIn(copy: Copy): Keys {
  const stored = copy.change(() => {
    if (!copy.get('keys')) copy.set('keys', JSON.stringify(newSeeds()))
    return copy.get('keys') as string
  })
  return keysOf(JSON.parse(stored) as { signing: string; box: string })
}

/** Returns the public key that identifies this device to the server. */
export const publicKeyOf = (copy: Copy): string => rawPublic(keysIn(copy).signing)

interface Account {
  server: string
  user: string
}

/**
 * Writes all unconfirmed changes to a new bundle. The first bundle only registers the device: its response contains
 * the key that encrypts changes.
 */
export function writeOut(copy: Copy, { server, user }: Account): { file: Buffer; number: number; changes: number } {
  const keys = keysIn(copy)
  const to = copy.get('serverBox')
  const number = Number(copy.get('carried') ?? 0) + 1
  const mutations = to === undefined ? [] : copy.markSent()
  const only = copy.get('only')
  const request: Request = {
    schema: SCHEMA,
    platform: `${process.platform}-${process.arch}`,
    ...(only && { only: JSON.parse(only) as string[] }),
    cursor: copy.get('cursor'),
  }
  const head = {
    direction: 'out' as const,
    number,
    device: rawPublic(keys.signing),
    name: (hostname() || 'this computer').slice(0, 100),
    server,
    user,
    at: new Date().toISOString(),
  }
  return { file: pack(head, [request, ...mutations.map(sent)], keys, to), number, changes: mutations.length }
}

interface Brought extends Response {
  changed: number
  number: number
  /** The fingerprint of the server's key, if this was its first bundle. */
  pinned?: string
}

/** Stores the response bundle of the server, completely or not at all. */
export async function readBack(copy: Copy, bytes: Uint8Array): Promise<Brought> {
  const { head, lines } = open(bytes)
  const keys = keysIn(copy)
  if (head.direction !== 'back' || head.device !== rawPublic(keys.signing))
    throw new AppError('invalid', 'This bundle is not a response to a bundle of this computer.')
  const pinned = copy.get('serverKey')
  if (pinned !== undefined && pinned !== head.signer)
    throw new AppError('forbidden', `This bundle was signed by another server: its key is ${fingerprint(head.signer)}.`)
  const done = Number(copy.get('carried') ?? 0)
  if (head.number <= done) throw new AppError('conflict', `Bundle ${head.number} is already imported.`)
  if (head.number > done + 1)
    throw new AppError('conflict', `Bundle ${done + 1} is missing: import it before number ${head.number}.`)
  const [response, ...pages] = (await lines(keys)) as [Response, ...Page[]]
  const changed = copy.change(() => store(copy, response, pages, head))
  return {
    ...response,
    changed,
    number: head.number,
    ...(pinned === undefined && { pinned: fingerprint(head.signer) }),
  }
}

function store(
  copy: Copy,
  { deviceId, team, receipts, fresh }: Response,
  pages: Page[],
  head: { number: number; signer: string; box: string },
): number {
  const isFresh = fresh || copy.get('cursor') === undefined
  acknowledge(copy, receipts)
  const changed = pages.map((page, i) => applyPage(copy, page, isFresh && i === 0).changed)
  for (const [name, value] of Object.entries({
    deviceId,
    carried: String(head.number),
    serverKey: head.signer,
    serverBox: head.box,
  }))
    copy.set(name, value)
  if (team !== undefined) copy.set('team', team)
  return changed.reduce((sum, one) => sum + one, 0)
}
