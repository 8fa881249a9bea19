import { define, text, texts } from '../../events/catalogue.ts'

const ofKey = { kind: 'api_key', told: 'access', changes: 'rights' } as const

export const apiKeyCreated = define('api_key.created', {
  ...ofKey,
  says: 'A user created an API key',
  data: { name: text, scopes: texts },
})
export const apiKeyRevoked = define('api_key.revoked', {
  ...ofKey,
  says: 'An API key was revoked',
  data: { name: text },
})

const ofToken = { kind: 'mcp_token', told: 'access', changes: 'rights' } as const

export const mcpTokenCreated = define('mcp_token.created', {
  ...ofToken,
  says: 'A user created an MCP token',
  data: { name: text, kind: text, scopes: texts },
})
export const mcpTokenRevoked = define('mcp_token.revoked', {
  ...ofToken,
  says: 'An MCP token was revoked',
  data: { name: text },
})
