import { email, instant, object, type Static, text } from '../../schema.ts'

const code = text(6, { pattern: '^[0-9]{6}$', example: '042042' })

export const CodeSend = object({ email: email() })
export type CodeSend = Static<typeof CodeSend>

export const CodeVerify = object({ email: email(), code })
export type CodeVerify = Static<typeof CodeVerify>

export const LinkVerify = object({
  token: text(200, { minLength: 1, description: 'The part of the mailed link after #', example: 'svc_one_…' }),
})
export type LinkVerify = Static<typeof LinkVerify>

export const LinkCode = object({ email: email(), code, expiresAt: instant() })
export type LinkCode = Static<typeof LinkCode>
