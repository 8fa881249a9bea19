import { createPrivateKey, createPublicKey } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { deriveKey } from './secrets.ts'

const ISSUER = 'tutti'
const ACCESS_MINUTES = 15

/**
 * Access tokens: one algorithm, short-lived, and only a reference. Rights come from the session's row on every request.
 */
export interface Jwt {
  sign(
    claims: { userId: string; sessionId: string },
    now: Date,
    minutes?: number,
  ): Promise<{ token: string; expiresAt: string }>
  /** Returns undefined unless it is one of our tokens and valid now. */
  verify(token: string, now: Date): Promise<{ userId: string; sessionId: string; expiresAt: number } | undefined>
}

/** An Ed25519 seed wrapped as PKCS#8. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

export function createJwt(master: string): Jwt {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, deriveKey(master, 'jwt')]), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(key)
  const kid = deriveKey(master, 'jwt-kid', 8).toString('hex')
  return {
    async sign({ userId, sessionId }, now, minutes = ACCESS_MINUTES) {
      const iat = Math.floor(now.getTime() / 1000)
      const exp = iat + minutes * 60
      const token = await new SignJWT({ sid: sessionId })
        .setProtectedHeader({ alg: 'EdDSA', kid })
        .setIssuer(ISSUER)
        .setAudience(ISSUER)
        .setSubject(userId)
        .setIssuedAt(iat)
        .setExpirationTime(exp)
        .sign(key)
      return { token, expiresAt: new Date(exp * 1000).toISOString() }
    },
    async verify(token, now) {
      if (token.length > 4096) return undefined
      try {
        const { payload, protectedHeader } = await jwtVerify(token, publicKey, {
          algorithms: ['EdDSA'],
          issuer: ISSUER,
          audience: ISSUER,
          clockTolerance: 30,
          currentDate: now,
          requiredClaims: ['sub', 'sid', 'iat', 'exp'],
        })
        if (protectedHeader.kid !== kid || typeof payload.sid !== 'string' || !payload.sub || !payload.exp)
          return undefined
        if (payload.iat === undefined || payload.iat > now.getTime() / 1000 + 30) return undefined
        return { userId: payload.sub, sessionId: payload.sid, expiresAt: payload.exp * 1000 }
      } catch (error) {
        if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof SyntaxError)
          return undefined
        throw error
      }
    },
  }
}
