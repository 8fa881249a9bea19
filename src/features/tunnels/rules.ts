import type { Rule } from '../../auth/policy.ts'

const webApi = ['session', 'api_key'] as const

export const reading: Rule = { kinds: webApi, scope: 'tunnels:read', role: 'viewer' }
export const changing: Rule = { kinds: webApi, scope: 'tunnels:write', role: 'member' }
/**
 * For what happens on somebody's machine, or lets one in: not for viewers, nor for an administrator who acts as
 * somebody else.
 */
export const acting: Rule = { ...changing, own: true }
export const watching: Rule = { ...reading, role: 'member' }
