import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { deriveKey } from './secrets.ts'

/** Encrypts values that must be readable later, with AES-256-GCM and a key that is not in the database. */
export interface Seal {
  close(text: string): string
  /** Returns undefined for anything that was not sealed with this key, or was changed since. */
  open(sealed: string): string | undefined
}

const NONCE = 12
const TAG = 16

export function createSeal(master: string): Seal {
  const key = deriveKey(master, 'seal')
  return {
    close(text) {
      const nonce = randomBytes(NONCE)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
        'base64url',
      )
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length < NONCE + TAG) return undefined
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE))
        decipher.setAuthTag(bytes.subarray(-TAG))
        return Buffer.concat([decipher.update(bytes.subarray(NONCE, -TAG)), decipher.final()]).toString('utf8')
      } catch {
        return undefined
      }
    },
  }
}
