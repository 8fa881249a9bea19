import type { Rule } from '../../auth/policy.ts'

const webApi = ['session', 'api_key'] as const

export const reading: Rule = { kinds: webApi, scope: 'tunnels:read', role: 'viewer' }
export const changing: Rule = { kinds: webApi, scope: 'tunnels:write', role: 'member' }
