import { createDecipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from 'node:crypto'
import { compactVerify, importJWK } from 'jose'

/** A push service as those of browser makers, and browsers that subscribe to it (RFC 8030, 8291 and 8292). */
export interface Pushed {
  path: string
  headers: Headers
  body: Buffer
}

export class PushService {
  readonly received: Pushed[] = []
  /** Statuses to return next, by path. Default: 201. */
  readonly statuses = new Map<string, number[]>()
  #wake: (() => void)[] = []
  readonly #server

  constructor(tls?: { key: string; cert: string }) {
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      ...(tls && { tls }),
      fetch: async (request) => {
        const { pathname: path } = new URL(request.url)
        this.received.push({ path, headers: request.headers, body: Buffer.from(await request.arrayBuffer()) })
        for (const wake of this.#wake.splice(0)) wake()
        return new Response(null, { status: this.statuses.get(path)?.shift() ?? 201 })
      },
    })
  }

  get port(): number {
    return this.#server.port as number
  }

  /** Returns the messages for a browser, once there are this many. */
  async messagesTo({ path }: Browser, count: number): Promise<Pushed[]> {
    for (;;) {
      const found = this.received.filter((message) => message.path === path)
      if (found.length >= count) return found
      await new Promise<void>((resolve) => void this.#wake.push(resolve))
    }
  }

  stop = () => this.#server.stop(true)
}

let browsers = 0

/** A browser with keys of its own. Only it can read the messages. */
export class Browser {
  readonly path = `/send/${++browsers}-${randomBytes(8).toString('hex')}`
  readonly #key: ECDH

  constructor(
    key?: string,
    private readonly auth = randomBytes(16),
  ) {
    this.#key = createECDH('prime256v1')
    if (key) this.#key.setPrivateKey(key, 'base64url')
    else this.#key.generateKeys()
  }

  /** What a page sends to the server. */
  subscription(origin: string) {
    const keys = { p256dh: this.#key.getPublicKey().toString('base64url'), auth: this.auth.toString('base64url') }
    return { endpoint: origin + this.path, keys }
  }

  /** Decrypts a message. Throws if it was not encrypted for this browser. */
  decrypt(body: Buffer): string {
    const [salt, sender] = [body.subarray(0, 16), body.subarray(21, 21 + (body[20] ?? 0))]
    const derive = (salt: Uint8Array, secret: Uint8Array, info: Uint8Array, length: number) =>
      Buffer.from(hkdfSync('sha256', secret, salt, info, length))
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), this.#key.getPublicKey(), sender])
    const secret = derive(this.auth, this.#key.computeSecret(sender), info, 32)
    const contentKey = derive(salt, secret, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
    const nonce = derive(salt, secret, Buffer.from('Content-Encoding: nonce\0'), 12)
    const decipher = createDecipheriv('aes-128-gcm', contentKey, nonce)
    decipher.setAuthTag(body.subarray(-16))
    const plain = Buffer.concat([decipher.update(body.subarray(21 + sender.length, -16)), decipher.final()])
    const end = plain.findLastIndex((byte) => byte !== 0)
    if (plain[end] !== 2) throw new Error('the message has no end')
    return plain.subarray(0, end).toString()
  }
}

/** Returns the claims of the header `authorization`, after checking it with the key that it names. */
export async function checkVapid(header: string): Promise<{ claims: Record<string, unknown>; publicKey: string }> {
  const [, token = '', publicKey = ''] = /^vapid t=([^,]+), k=([\w-]+)$/.exec(header) ?? []
  const point = Buffer.from(publicKey, 'base64url')
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
  const { payload } = await compactVerify(token, await importJWK({ kty: 'EC', crv: 'P-256', x, y }, 'ES256'))
  return { claims: JSON.parse(new TextDecoder().decode(payload)) as Record<string, unknown>, publicKey }
}
