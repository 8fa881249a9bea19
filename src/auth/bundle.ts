import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto'
import { promisify } from 'node:util'
import { zstdCompressSync, zstdDecompress } from 'node:zlib'
import { AppError } from '../errors.ts'
import { jsonDepth } from '../text/json-depth.ts'

/**
 * The file that is carried between a device without a network and its server: a line that names the format, a line
 * with the head as JSON, a line with the signature, then JSON lines, compressed with zstd and encrypted to the reader.
 * The command line and the server both use this file.
 */

const MAGIC = 'tutti-bundle 1'
const [NONCE, TAG] = [12, 16]
const expand = promisify(zstdDecompress)

/** What a reader accepts, so that a small file cannot fill its memory or keep it busy. */
interface BundleLimits {
  /** Size of the expanded content. */
  bytes: number
  lines: number
  /** How deep a line may be nested. Default: any depth. */
  depth?: number
}
/** More than any server sends. */
const MOST: BundleLimits = { bytes: 512 << 20, lines: 1_000_000 }
/** Bytes of lines that are parsed without letting others run. */
const SLICE = 1 << 20

export interface BundleHead {
  /** `out`: from a device to its server. `back`: the server's response. */
  direction: 'out' | 'back'
  /** Raises by one with each bundle that came back. A response has the number of its request. */
  number: number
  /** Raw public keys of the signer, as base64url: Ed25519 signs, X25519 is what others encrypt to. */
  signer: string
  box: string
  /** The device: its Ed25519 key. The signer of an `out` bundle. */
  device: string
  /** The name of the device, for people. */
  name: string
  /** The address of the server, and the user, for people. The server decides by the sign-in of who carries it. */
  server: string
  user: string
  at: string
  /** The key that was made for this bundle, with which the reader decrypts it. None: it is not encrypted. */
  sealed?: string
}

export interface BundleKeys {
  signing: KeyObject
  box: KeyObject
}

const pkcs8 = { ed25519: '302e020100300506032b657004220420', x25519: '302e020100300506032b656e04220420' }
const spki = { ed25519: '302a300506032b6570032100', x25519: '302a300506032b656e032100' }
type Curve = keyof typeof pkcs8

/** Returns the private key of 32 secret bytes. */
export const privateKey = (curve: Curve, seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([Buffer.from(pkcs8[curve], 'hex'), seed]), format: 'der', type: 'pkcs8' })

function publicKey(curve: Curve, raw: string): KeyObject {
  const bytes = Buffer.from(raw, 'base64url')
  if (bytes.length !== 32) throw bundleError('a key in it is not valid')
  return createPublicKey({ key: Buffer.concat([Buffer.from(spki[curve], 'hex'), bytes]), format: 'der', type: 'spki' })
}

/** Returns a public key as it is written in a head: 32 bytes as base64url. */
export const exportPublicKey = (key: KeyObject): string => String(key.export({ format: 'jwk' }).x)

/** Returns new keys as two seeds, to be stored. */
export const newSeeds = (): { signing: string; box: string } => ({
  signing: randomBytes(32).toString('base64url'),
  box: randomBytes(32).toString('base64url'),
})
export const keysOf = ({ signing, box }: { signing: string; box: string }): BundleKeys => ({
  signing: privateKey('ed25519', Buffer.from(signing, 'base64url')),
  box: privateKey('x25519', Buffer.from(box, 'base64url')),
})

/** Returns a key in a form that two people can compare: eight groups of four characters. */
export const keyFingerprint = (raw: string): string =>
  (createHash('sha256').update(Buffer.from(raw, 'base64url')).digest('hex').slice(0, 32).match(/.{4}/g) ?? []).join(' ')

const bundleError = (why: string): AppError => new AppError('invalid', `This bundle cannot be used: ${why}.`)

type Written = Omit<BundleHead, 'signer' | 'box' | 'sealed'>

/** Writes a bundle. `to` is the reader's X25519 key; without it, the bundle is not encrypted. */
export function packBundle(head: Written, lines: readonly object[], keys: BundleKeys, to: string | undefined): Buffer {
  const text = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const once = generateKeyPairSync('x25519')
  const whole: BundleHead = { ...head, signer: exportPublicKey(keys.signing), box: exportPublicKey(keys.box) }
  if (to !== undefined) whole.sealed = exportPublicKey(once.privateKey)
  const begin = Buffer.from(`${MAGIC}\n${JSON.stringify(whole)}\n`)
  const packed = zstdCompressSync(text)
  const body =
    to === undefined ? packed : encryptContent(packed, sharedKey(once.privateKey, publicKey('x25519', to)), begin)
  const signature = sign(null, signedPart(begin, body), keys.signing)
  return Buffer.concat([begin, Buffer.from(`${signature.toString('base64url')}\n`), body])
}

const signedPart = (begin: Buffer, body: Buffer): Buffer =>
  Buffer.concat([begin, createHash('sha256').update(body).digest()])

function sharedKey(own: KeyObject, other: KeyObject): Buffer {
  try {
    return Buffer.from(hkdfSync('sha256', diffieHellman({ privateKey: own, publicKey: other }), '', 'tutti-bundle', 32))
  } catch {
    throw bundleError('a key in it is not valid')
  }
}

/** The head is authenticated together with the content. */
function encryptContent(text: Buffer, key: Buffer, begin: Buffer): Buffer {
  const nonce = randomBytes(NONCE)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(begin)
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
}

export interface OpenedBundle {
  head: BundleHead
  /** SHA-256 of the whole file. */
  hash: string
  lines(keys: BundleKeys, most?: BundleLimits): Promise<object[]>
}

/** Reads the head of a bundle and checks that its signer wrote it as it is. `lines` decrypts the content. */
export function openBundle(file: Uint8Array): OpenedBundle {
  const bytes = Buffer.from(file)
  const ends = [bytes.indexOf(10)]
  for (let i = 1; i < 3; i++) ends.push(bytes.indexOf(10, (ends[i - 1] as number) + 1))
  const [first = -1, second = -1, third = -1] = ends
  if (first < 0 || second < 0 || third < 0 || bytes.subarray(0, first).toString() !== MAGIC)
    throw bundleError('it is not a bundle of this version')
  const begin = bytes.subarray(0, second + 1)
  const head = headOf(bytes.subarray(first + 1, second).toString())
  const body = bytes.subarray(third + 1)
  const signature = Buffer.from(bytes.subarray(second + 1, third).toString(), 'base64url')
  if (!verify(null, signedPart(begin, body), publicKey('ed25519', head.signer), signature))
    throw bundleError('it was changed after it was signed')
  // Throws for a key that nothing can be encrypted to.
  sharedKey(generateKeyPairSync('x25519').privateKey, publicKey('x25519', head.box))
  return {
    head,
    hash: createHash('sha256').update(bytes).digest('hex'),
    lines: (keys, most = MOST) => linesOf(decodeContent(body, head, keys, begin), most),
  }
}

function headOf(text: string): BundleHead {
  let head: Partial<BundleHead>
  try {
    head = JSON.parse(text) as Partial<BundleHead>
  } catch {
    throw bundleError('its head cannot be read')
  }
  const texts = [head.signer, head.box, head.device, head.name, head.server, head.user, head.at, head.sealed ?? '']
  const isWhole = texts.every((value) => typeof value === 'string') && Number.isSafeInteger(head.number)
  if (!isWhole || (head.direction !== 'out' && head.direction !== 'back')) throw bundleError('its head is not complete')
  return head as BundleHead
}

const decodeContent = (body: Buffer, { sealed }: BundleHead, keys: BundleKeys, begin: Buffer): Buffer =>
  sealed === undefined ? body : decryptContent(body, sharedKey(keys.box, publicKey('x25519', sealed)), begin)

/** Counts the lines before any is read, and lets others run in between. */
async function linesOf(packed: Buffer, most: BundleLimits): Promise<object[]> {
  const text = await expand(packed, { maxOutputLength: most.bytes }).catch(() => {
    throw bundleError('its content cannot be read, or is too large')
  })
  let count = 0
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1))
    if (++count > most.lines) throw bundleError(`it has more than ${most.lines} lines`)
  const lines: object[] = []
  for (let at = 0, paused = 0; at < text.length; ) {
    const next = text.indexOf(10, at)
    const end = next < 0 ? text.length : next
    if (end > at) lines.push(parseLine(text.toString('utf8', at, end), most.depth))
    at = end + 1
    if (at - paused < SLICE) continue
    paused = at
    await new Promise(setImmediate)
  }
  return lines
}

function parseLine(line: string, most?: number): object {
  if (most !== undefined && jsonDepth(line) > most) throw bundleError(`it is nested more than ${most} levels deep`)
  try {
    return JSON.parse(line) as object
  } catch {
    throw bundleError('its content cannot be read')
  }
}

function decryptContent(body: Buffer, key: Buffer, begin: Buffer): Buffer {
  if (body.length < NONCE + TAG) throw bundleError('it is too short')
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, NONCE)).setAAD(begin)
    decipher.setAuthTag(body.subarray(-TAG))
    return Buffer.concat([decipher.update(body.subarray(NONCE, -TAG)), decipher.final()])
  } catch {
    throw bundleError('it was written for another reader')
  }
}
