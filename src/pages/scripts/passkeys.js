// Browsers convert between JSON and the format of authenticators.
import { element, post } from './api.js'

/** Returns why passkeys cannot be used here, or undefined. */
export function noPasskeys() {
  const { hostname } = location
  if (hostname === '127.0.0.1' || hostname === '[::1]') {
    const named = Object.assign(new URL(location.href), { hostname: 'localhost', hash: '' })
    return ['For passkeys, open ', element('a', { href: named.href }, named.origin), ' instead.']
  }
  if (!isSecureContext || /^[\d.]+$|^\[/.test(hostname)) return ['Passkeys need an https address with a host name.']
  if (typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential)
    return undefined
  return ['This browser is too old for passkeys.']
}

const reasons = {
  NotAllowedError:
    'No passkey was used: it was cancelled, took too long, or this device has none. Try again, or sign in another way.',
  SecurityError: 'Passkeys do not work at this address. Open this server at its configured address.',
}
const plainly = (error) => {
  throw Object.hasOwn(reasons, error.name) ? new Error(reasons[error.name]) : error
}

export async function signInWithPasskey() {
  const { sessionId, options } = await post('/api/auth/passkey/authenticate/begin')
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const credential = await navigator.credentials.get({ publicKey }).catch(plainly)
  return post('/api/auth/passkey/authenticate/finish', { sessionId, response: credential.toJSON() })
}
