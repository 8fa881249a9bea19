import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { invalid } from '../../errors.ts'
import type { App } from '../../services.ts'

/** WebAuthn itself. The library is large and seldom needed, so it is loaded when somebody uses a passkey. */
async function library() {
  // The library imports it too, but in a compiled binary only after what needs it.
  await import('reflect-metadata')
  return { ...(await import('@simplewebauthn/server')), ...(await import('@simplewebauthn/server/helpers')) }
}

export const MINUTES = 5
const timeout = MINUTES * 60_000
const MOST_BYTES = 32 << 10
/** EdDSA, ES256, RS256. Named, because the library offers more where the runtime happens to have it, and another one may not. */
const algorithms = [-8, -7, -257]
const transports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const

/** Who we are is what APP_URL says, never what a request claims. */
const party = ({ url }: App) => ({ rpID: new URL(url).hostname, origin: new URL(url).origin })

interface Options extends Record<string, unknown> {
  challenge: string
}

/**
 * Discoverable ones only: nobody types an address before he signs in, so signing in cannot tell who has an account. For the same reason
 * the handle says nothing but the user's id.
 */
export async function registrationOptions(
  app: App,
  user: { id: string; email: string; name: string },
  known: { credentialId: string; transports: string[] }[],
): Promise<Options> {
  const { generateRegistrationOptions } = await library()
  const options = await generateRegistrationOptions({
    rpName: 'Tutti',
    rpID: party(app).rpID,
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
  const { generateAuthenticationOptions } = await library()
  const options = await generateAuthenticationOptions({
    rpID: party(app).rpID,
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

/** Undefined for whatever is not a right answer to this challenge, from this site, by a person who was verified. */
export async function verifyRegistration(
  app: App,
  challenge: string,
  given: object,
): Promise<NewCredential | undefined> {
  checkSize(given)
  const { decodeAttestationObject, isoBase64URL, verifyRegistrationResponse } = await library()
  const { origin, rpID } = party(app)
  const response = given as RegistrationResponseJSON
  try {
    // We ask for no attestation. Formats with certificates would have the library look up revocation lists at addresses in them.
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

/** The counter is not looked at here: the row decides, so that of two uses at once the second sees the first. */
export async function verifyAuthentication(
  app: App,
  challenge: string,
  given: object,
  passkey: { credentialId: string; publicKey: string; userId: string },
): Promise<{ counter: number; backedUp: boolean } | undefined> {
  const { verifyAuthenticationResponse } = await library()
  const { origin, rpID } = party(app)
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

/** An answer of an authenticator is about one KiB. */
export function checkSize(response: object): void {
  if (Buffer.byteLength(JSON.stringify(response)) > MOST_BYTES)
    throw invalid('/response', 'response is larger than 32 KiB.', 'too_long')
}
