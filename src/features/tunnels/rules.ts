import type { Rule } from '../../auth/policy.ts'

const webApi = ['session', 'api_key'] as const

export const tunnelReadRule: Rule = { kinds: webApi, scope: 'tunnels:read', role: 'viewer' }
export const tunnelWriteRule: Rule = { kinds: webApi, scope: 'tunnels:write', role: 'member' }
/**
 * For actions on a person's machine, and for connecting one: not for viewers, nor for administrators who act as someone
 * else.
 */
export const tunnelActRule: Rule = { ...tunnelWriteRule, own: true }
export const tunnelWatchRule: Rule = { ...tunnelReadRule, role: 'member' }
