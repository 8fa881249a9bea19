import { hostname } from 'node:os'
import {
  type BundleKeys,
  exportPublicKey,
  keyFingerprint,
  keysOf,
  newSeeds,
  openBundle,
  packBundle,
} from '../../src/auth/bundle.ts'
import { AppError } from '../../src/errors.ts'
import type { Copy } from './copy.ts'
import { toWire } from './mutation.ts'
import { acknowledgeReceipts, applyPage, type Page, type Receipt, SCHEMA } from './pages.ts'

/** The first line of a bundle to the server; the changes follow, one a line. */
interface BundleRequest {
  schema: string
  platform: string
  /** Only these containers. */
  only?: string[]
  /** How far the device has pulled. None: it wants everything. */
  cursor?: string
}

/** The first line of a bundle from the server; the pages follow, one a line. */
interface BundleResponse {
  deviceId: string
  user: { id: string; name: string; email: string }
  /** The team that the user has chosen on the server. */
  team?: string
  receipts: Receipt[]
  /** The pages begin with everything, although the device had asked for what changed. */
  fresh: boolean
}

function deviceKeys(copy: Copy): BundleKeys {
  const stored = copy.change(() => {
    if (!copy.get('keys')) copy.set('keys', JSON.stringify(newSeeds()))
    return copy.get('keys') as string
  })
  return keysOf(JSON.parse(stored) as { signing: string; box: string })
}

/** Returns the public key that identifies this device to the server. */
export const publicKeyOf = (copy: Copy): string => exportPublicKey(deviceKeys(copy).signing)

interface Account {
  server: string
  user: string
}

/**
 * Writes all unconfirmed changes to a new bundle. The first bundle only registers the device: its response contains
 * the key that encrypts changes.
 */
export function writeBundle(copy: Copy, { server, user }: Account): { file: Buffer; number: number; changes: number } {
  const keys = deviceKeys(copy)
  const to = copy.get('serverBox')
  const number = Number(copy.get('carried') ?? 0) + 1
  const mutations = to === undefined ? [] : copy.markSent()
  const only = copy.get('only')
  const request: BundleRequest = {
    schema: SCHEMA,
    platform: `${process.platform}-${process.arch}`,
    ...(only && { only: JSON.parse(only) as string[] }),
    cursor: copy.get('cursor'),
  }
  const head = {
    direction: 'out' as const,
    number,
    device: exportPublicKey(keys.signing),
    name: (hostname() || 'this computer').slice(0, 100),
    server,
    user,
    at: new Date().toISOString(),
  }
  return { file: packBundle(head, [request, ...mutations.map(toWire)], keys, to), number, changes: mutations.length }
}

interface ImportedBundle extends BundleResponse {
  changed: number
  number: number
  /** The fingerprint of the server's key, if this was its first bundle. */
  pinned?: string
}

/** Stores the response bundle of the server, completely or not at all. */
export async function readBundle(copy: Copy, bytes: Uint8Array): Promise<ImportedBundle> {
  const { head, lines } = openBundle(bytes)
  const keys = deviceKeys(copy)
  if (head.direction !== 'back' || head.device !== exportPublicKey(keys.signing))
    throw new AppError('invalid', 'This bundle is not a response to a bundle of this computer.')
  const pinned = copy.get('serverKey')
  if (pinned !== undefined && pinned !== head.signer)
    throw new AppError(
      'forbidden',
      `This bundle was signed by another server: its key is ${keyFingerprint(head.signer)}.`,
    )
  const done = Number(copy.get('carried') ?? 0)
  if (head.number <= done) throw new AppError('conflict', `Bundle ${head.number} is already imported.`)
  if (head.number > done + 1)
    throw new AppError('conflict', `Bundle ${done + 1} is missing: import it before number ${head.number}.`)
  const [response, ...pages] = (await lines(keys)) as [BundleResponse, ...Page[]]
  const changed = copy.change(() => storeBundle(copy, response, pages, head))
  return {
    ...response,
    changed,
    number: head.number,
    ...(pinned === undefined && { pinned: keyFingerprint(head.signer) }),
  }
}

function storeBundle(
  copy: Copy,
  { deviceId, team, receipts, fresh }: BundleResponse,
  pages: Page[],
  head: { number: number; signer: string; box: string },
): number {
  const isFresh = fresh || copy.get('cursor') === undefined
  acknowledgeReceipts(copy, receipts)
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
