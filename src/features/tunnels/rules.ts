import type { Rule } from '../../auth/policy.ts'

const webApi = ['session', 'api_key'] as const

export const reading: Rule = { kinds: webApi, scope: 'tunnels:read', role: 'viewer' }
export const changing: Rule = { kinds: webApi, scope: 'tunnels:write', role: 'member' }
/**
 * For actions on a person's machine, and for connecting one: not for viewers, nor for administrators who act as someone
 * else.
 */
export const acting: Rule = { ...changing, own: true }
export const watching: Rule = { ...reading, role: 'member' }
