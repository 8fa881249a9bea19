import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/**
 * Bearer secrets are `prefix + 32 base62 + 6 base62 CRC32`. The checksum lets us refuse a mistyped or invented one
 * without a query, and lets secret scanners recognise ours. Only SHA-256 hashes are stored; the body has 190 random
 * bits, so no salt or stretching is needed.
 */
export const prefixes = {
  mcp_live: 'svc_live_',
  mcp_test: 'svc_test_',
  tunnel: 'svc_tun_',
  api_key: 'svc_',
  refresh: 'svc_ref_',
  setup: 'svc_set_',
  once: 'svc_one_',
  invite: 'svc_inv_',
} as const
export type SecretKind = keyof typeof prefixes

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BODY = 32
const SUM = 6

/**
 * A random suffix for names that must be neither guessable nor countable. Six letters are not enough for many records
 * of the same name: with 10,000, two suffixes are equal in one case of thirty.
 */
export const randomTail = (length = 6): string => randomBase62(length).toLowerCase()

const randomBase62 = (length: number): string =>
  base62(length, () => crypto.getRandomValues(new Uint8Array(length * 2)))

/** Returns text made of bytes, of which `more` gives as many as are needed. */
function base62(length: number, more: (counter: number) => Uint8Array): string {
  let out = ''
  for (let counter = 0; out.length < length; counter++) {
    // 248 = 4 × 62: larger bytes are dropped, so every character is equally likely.
    for (const byte of more(counter)) if (byte < 248 && out.length < length) out += alphabet[byte % 62]
  }
  return out
}

function checksum(text: string): string {
  let n = Bun.hash.crc32(text)
  let out = ''
  for (let i = 0; i < SUM; i++) {
    out = alphabet[n % 62] + out
    n = Math.floor(n / 62)
  }
  return out
}

export const newSecret = (kind: SecretKind): string => withSum(prefixes[kind] + randomBase62(BODY))

/** Derives a secret from bytes that only this server can compute, so that it need not be stored. */
export const secretFrom = (kind: SecretKind, bytes: (counter: number) => Uint8Array): string =>
  withSum(prefixes[kind] + base62(BODY, bytes))

const withSum = (head: string): string => head + checksum(head)

/**
 * Returns the kind of a well-formed secret with a correct checksum, else undefined. Longer prefixes are tried before
 * `svc_`.
 */
export function secretKind(secret: string): SecretKind | undefined {
  const kind = (Object.keys(prefixes) as SecretKind[])
    .sort((a, b) => prefixes[b].length - prefixes[a].length)
    .find((k) => secret.startsWith(prefixes[k]) && secret.length === prefixes[k].length + BODY + SUM)
  return kind && checksum(secret.slice(0, -SUM)) === secret.slice(-SUM) ? kind : undefined
}

export const hashSecret = (secret: string): string => new Bun.CryptoHasher('sha256').update(secret).digest('hex')

/**
 * The stored hash of a bearer token. That of a token which is limited to projects differs, so an older program that
 * does not know the limit refuses the token instead of ignoring the limit.
 */
export const hashBearer = (secret: string, projects: readonly string[] | null): string =>
  hashSecret(projects === null ? secret : `limited:${secret}`)

/** Both hashes that a bearer token can be stored with: without a limit, and with one. */
export const bearerHashes = (secret: string): [string, string] => [hashBearer(secret, null), hashBearer(secret, [])]

/** The parts of a secret that lists may show, to recognise it. */
export const maskedSecret = (secret: string): { prefix: string; last4: string } => {
  const kind = secretKind(secret)
  return { prefix: kind ? prefixes[kind] : '', last4: secret.slice(-4) }
}

export const isSameSecret = (a: string, b: string): boolean => {
  const [x, y] = [Buffer.from(hashSecret(a)), Buffer.from(hashSecret(b))]
  return timingSafeEqual(x, y)
}

/**
 * Every key is derived from the one master secret for one purpose, so a leaked key reveals nothing about the others.
 */
export const deriveKey = (master: string, purpose: string, bytes = 32): Buffer =>
  Buffer.from(hkdfSync('sha256', master, 'tutti', purpose, bytes))

/** Stored in the database to detect an instance started with another master secret. */
export const secretFingerprint = (master: string): string =>
  createHmac('sha256', deriveKey(master, 'fingerprint')).update('tutti').digest('hex')
