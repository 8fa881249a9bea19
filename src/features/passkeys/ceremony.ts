import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { invalid } from '../../errors.ts'
import type { App } from '../../services.ts'

/** The WebAuthn library is large and rarely needed, so it is loaded on first use. */
async function loadWebAuthn() {
  // The library imports it too, but in a compiled binary that happens too late.
  await import('reflect-metadata')
  return { ...(await import('@simplewebauthn/server')), ...(await import('@simplewebauthn/server/helpers')) }
}

export const CHALLENGE_MINUTES = 5
const timeout = CHALLENGE_MINUTES * 60_000
const MOST_BYTES = 32 << 10
/** EdDSA, ES256, RS256. The library would offer all algorithms of this runtime, and another runtime may have fewer. */
const algorithms = [-8, -7, -257]
const transports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const

/** The relying party follows from APP_URL, never from a request. */
const relyingParty = ({ url }: App) => ({ rpID: new URL(url).hostname, origin: new URL(url).origin })

interface Options extends Record<string, unknown> {
  challenge: string
}

/**
 * Requires discoverable passkeys: users sign in without typing an address, so the sign-in cannot reveal who has an
 * account. For the same reason the user handle contains only the user's id.
 */
export async function registrationOptions(
  app: App,
  user: { id: string; email: string; name: string },
  known: { credentialId: string; transports: string[] }[],
): Promise<Options> {
  const { generateRegistrationOptions } = await loadWebAuthn()
  const options = await generateRegistrationOptions({
    rpName: 'Tutti',
    rpID: relyingParty(app).rpID,
    userID: new TextEncoder().encode(user.id),
    userName: user.email,
    userDisplayName: user.name,
    timeout,
    attestationType: 'none',
    supportedAlgorithmIDs: algorithms,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    excludeCredentials: known.map((k) => ({
      id: k.credentialId,
      transports: k.transports as AuthenticatorTransport[],
    })),
  })
  return { ...options }
}

export async function authenticationOptions(app: App): Promise<Options> {
  const { generateAuthenticationOptions } = await loadWebAuthn()
  const options = await generateAuthenticationOptions({
    rpID: relyingParty(app).rpID,
    userVerification: 'required',
    timeout,
    allowCredentials: [],
  })
  return { ...options }
}

export interface NewCredential {
  credentialId: string
  publicKey: string
  counter: number
  backedUp: boolean
  transports: string[]
}

/** Returns undefined unless the response answers this challenge, comes from this site and from a verified user. */
export async function verifyRegistration(
  app: App,
  challenge: string,
  given: object,
): Promise<NewCredential | undefined> {
  checkSize(given)
  const { decodeAttestationObject, isoBase64URL, verifyRegistrationResponse } = await loadWebAuthn()
  const { origin, rpID } = relyingParty(app)
  const response = given as RegistrationResponseJSON
  try {
    // We request no attestation. For formats with certificates the library would fetch revocation lists from the
    // addresses in them.
    const format = decodeAttestationObject(isoBase64URL.toBuffer(response.response.attestationObject)).get('fmt')
    if (format !== 'none' && format !== 'packed') throw new Error(`attestation of the format ${format}`)
    const { registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpID,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    })
    if (!registrationInfo) throw new Error('attestation not valid')
    const { credential, credentialBackedUp } = registrationInfo
    const named: unknown = response.response.transports
    return {
      credentialId: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      backedUp: credentialBackedUp,
      transports: Array.isArray(named) ? transports.filter((known) => named.includes(known)) : [],
    }
  } catch (error) {
    app.log.debug('passkey not registered', { reason: (error as Error).message })
    return undefined
  }
}

/** Does not check the counter: the caller compares it with the row, so that the second of two uses sees the first. */
export async function verifyAuthentication(
  app: App,
  challenge: string,
  given: object,
  passkey: { credentialId: string; publicKey: string; userId: string },
): Promise<{ counter: number; backedUp: boolean } | undefined> {
  const { verifyAuthenticationResponse } = await loadWebAuthn()
  const { origin, rpID } = relyingParty(app)
  const response = given as AuthenticationResponseJSON
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpID,
      requireUserVerification: true,
      credential: {
        id: passkey.credentialId,
        publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
        counter: 0,
      },
    })
    const handle = Buffer.from(response.response.userHandle ?? '', 'base64url').toString()
    if (!verified || handle !== passkey.userId) throw new Error(verified ? 'another user' : 'wrong signature')
    return { counter: authenticationInfo.newCounter, backedUp: authenticationInfo.credentialBackedUp }
  } catch (error) {
    app.log.debug('passkey refused', { reason: (error as Error).message })
    return undefined
  }
}

/** Limits the response, which usually has about one KiB. */
export function checkSize(response: object): void {
  if (Buffer.byteLength(JSON.stringify(response)) > MOST_BYTES)
    throw invalid('/response', 'response is larger than 32 KiB.', 'too_long')
}
