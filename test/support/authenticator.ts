import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { Person } from './app.ts'

/** A simulated security key: does what authenticator and browser do together, correctly or, on request, wrongly. */
export interface Wrong {
  /** What the browser says the site is. */
  origin?: string
  /** What the authenticator says it was asked for. */
  rpId?: string
  challenge?: string
  type?: string
  verified?: boolean
  present?: boolean
  counter?: number
  userHandle?: string
  /** Signs with another key. */
  forged?: boolean
  /** Claims to be this credential. */
  credentialId?: string
  format?: string
}

type Options = Record<string, unknown> & { challenge?: unknown }

export class Authenticator {
  readonly credentialId = randomBytes(32).toString('base64url')
  counter = 0
  userHandle = ''
  #key: KeyObject
  #jwk: { x: string; y: string }

  /** `steps` 0 is an authenticator that does not count. */
  constructor(
    private readonly site: string,
    private readonly steps = 1,
  ) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#key = privateKey
    this.#jwk = publicKey.export({ format: 'jwk' }) as { x: string; y: string }
  }

  /** What `navigator.credentials.create()` gives, as JSON. */
  create(options: Options, wrong: Wrong = {}): Record<string, unknown> {
    this.userHandle = (options.user as { id: string }).id
    const id = wrong.credentialId ?? this.credentialId
    const bytes = Buffer.from(id, 'base64url')
    const attested = Buffer.concat([
      Buffer.alloc(16),
      Buffer.from([bytes.length >> 8, bytes.length & 255]),
      bytes,
      this.#cose(),
    ])
    const authData = this.#authenticatorData(0x40, wrong, attested)
    const attestationObject = cbor(
      new Map<string, Cbor>([
        ['fmt', wrong.format ?? 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ]),
    )
    return this.#credential(id, {
      clientDataJSON: this.#clientData('webauthn.create', options, wrong),
      attestationObject: attestationObject.toString('base64url'),
      transports: ['internal', 'hybrid', 'telepathy'],
    })
  }

  /** What `navigator.credentials.get()` gives, as JSON. */
  get(options: Options, wrong: Wrong = {}): Record<string, unknown> {
    const authData = this.#authenticatorData(0, wrong)
    const clientDataJSON = this.#clientData('webauthn.get', options, wrong)
    const signed = Buffer.concat([authData, sha256(Buffer.from(clientDataJSON, 'base64url'))])
    const key = wrong.forged ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey : this.#key
    return this.#credential(wrong.credentialId ?? this.credentialId, {
      clientDataJSON,
      authenticatorData: authData.toString('base64url'),
      signature: sign('sha256', signed, key).toString('base64url'),
      userHandle: wrong.userHandle ?? this.userHandle,
    })
  }

  #credential(id: string, response: object): Record<string, unknown> {
    return {
      id,
      rawId: id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      clientExtensionResults: {},
      response,
    }
  }

  #clientData(type: string, options: Options, wrong: Wrong): string {
    const data = {
      type: wrong.type ?? type,
      challenge: wrong.challenge ?? options.challenge,
      origin: wrong.origin ?? this.site,
      crossOrigin: false,
    }
    return Buffer.from(JSON.stringify(data)).toString('base64url')
  }

  #authenticatorData(flags: number, wrong: Wrong, more = Buffer.alloc(0)): Buffer {
    this.counter += this.steps
    const head = Buffer.alloc(5)
    head[0] = flags | (wrong.present === false ? 0 : 0x01) | (wrong.verified === false ? 0 : 0x04)
    head.writeUInt32BE(wrong.counter ?? this.counter, 1)
    return Buffer.concat([sha256(wrong.rpId ?? new URL(this.site).hostname), head, more])
  }

  /** ES256 over P-256. */
  #cose(): Buffer {
    return cbor(
      new Map<number, Cbor>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(this.#jwk.x, 'base64url')],
        [-3, Buffer.from(this.#jwk.y, 'base64url')],
      ]),
    )
  }
}

/** What it takes to finish adding a passkey, for somebody who has just begun. */
export async function newPasskey(
  site: string,
  who: Pick<Person, 'fetch'>,
): Promise<{ sessionId: string; response: object }> {
  const { body } = await who.fetch<{ sessionId: string; options: Options }>(
    'POST',
    '/api/auth/passkey/register/begin',
    {},
  )
  return { sessionId: body.sessionId, response: new Authenticator(site).create(body.options) }
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()

type Cbor = number | string | Buffer | Map<string, Cbor> | Map<number, Cbor>

/** As much of RFC 8949 as an authenticator needs. */
function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, inner]) => [cbor(key), cbor(inner)])])
}

function head(major: number, n: number): Buffer {
  if (n < 24) return Buffer.from([(major << 5) | n])
  if (n < 256) return Buffer.from([(major << 5) | 24, n])
  return Buffer.from([(major << 5) | 25, n >> 8, n & 255])
}
