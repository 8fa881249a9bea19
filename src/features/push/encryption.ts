/** Message encryption for Web Push (RFC 8291), with the content encoding `aes128gcm` (RFC 8188). */

/** Keys of the browser that receives the message. */
export interface BrowserKeys {
  /** P-256 point, uncompressed: 65 bytes. */
  p256dh: Uint8Array<ArrayBuffer>
  /** 16 bytes. */
  auth: Uint8Array<ArrayBuffer>
}

type Bytes = Uint8Array<ArrayBuffer>

/** Bytes of a message that every push service accepts, its header included. */
const RECORD = 4096
const SALT = 16
/** Marks the last record, which is the only one. */
const LAST = 2

const p256 = { name: 'ECDH', namedCurve: 'P-256' } as const
const bytesOf = (text: string): Bytes => new TextEncoder().encode(text)
const concat = (...parts: Uint8Array[]): Bytes => new Uint8Array(Buffer.concat(parts))

/** Throws if the point is not on the curve. */
const importPoint = (point: Bytes): Promise<CryptoKey> => crypto.subtle.importKey('raw', point, p256, false, [])

export async function isValidKeys({ p256dh, auth }: BrowserKeys): Promise<boolean> {
  if (p256dh.length !== 65 || auth.length !== 16) return false
  return importPoint(p256dh).then(
    () => true,
    () => false,
  )
}

async function deriveKey(salt: Bytes, secret: Bytes, info: Bytes, length: number): Promise<Bytes> {
  const key = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveBits'])
  return new Uint8Array(await crypto.subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt, info }, key, length * 8))
}

/** Encrypts a short text so that only the browser can read it. The push service sees its length only. */
export async function encryptMessage(text: string, { p256dh, auth }: BrowserKeys): Promise<Bytes> {
  const pair = await crypto.subtle.generateKey(p256, true, ['deriveBits'])
  const sender = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey))
  const point = await importPoint(p256dh)
  const shared = new Uint8Array(await crypto.subtle.deriveBits({ name: 'ECDH', public: point }, pair.privateKey, 256))
  const secret = await deriveKey(auth, shared, concat(bytesOf('WebPush: info\0'), p256dh, sender), 32)
  const salt = crypto.getRandomValues(new Uint8Array(SALT))
  const contentKey = await deriveKey(salt, secret, bytesOf('Content-Encoding: aes128gcm\0'), 16)
  const nonce = await deriveKey(salt, secret, bytesOf('Content-Encoding: nonce\0'), 12)
  const key = await crypto.subtle.importKey('raw', contentKey, 'AES-GCM', false, ['encrypt'])
  const plain = concat(bytesOf(text), new Uint8Array([LAST]))
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv: nonce }, key, plain)
  const size = new Uint8Array(4)
  new DataView(size.buffer).setUint32(0, RECORD)
  const message = concat(salt, size, new Uint8Array([sender.length]), sender, new Uint8Array(sealed))
  if (message.length > RECORD) throw new Error('a push message is longer than a record')
  return message
}
