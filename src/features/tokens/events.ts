import { defineEvent, flag, text, texts } from '../../events/catalogue.ts'
import { nullable, optional } from '../../schema.ts'

const ofKey = { kind: 'api_key', feed: 'access', changes: 'rights' } as const

export const apiKeyCreated = defineEvent('api_key.created', {
  ...ofKey,
  description: 'A user created an API key',
  data: { name: text, scopes: texts, projects: optional(nullable(texts)) },
  words: (_, { name }) => `created the API key ${name}`,
})
export const apiKeyRevoked = defineEvent('api_key.revoked', {
  ...ofKey,
  description: 'An API key was revoked',
  data: { name: text },
  words: (_, { name }) => `revoked the API key ${name}`,
})

const ofToken = { kind: 'mcp_token', feed: 'access', changes: 'rights' } as const

export const mcpTokenCreated = defineEvent('mcp_token.created', {
  ...ofToken,
  description: 'A user created an MCP token',
  data: { name: text, kind: text, scopes: texts, projects: optional(nullable(texts)) },
  words: (_, { name }) => `created the MCP token ${name}`,
})
export const mcpTokenIntroduced = defineEvent('mcp_token.introduced', {
  ...ofToken,
  description: 'A program used an MCP token for the first time; its agent is named after it',
  data: { name: text, client: text },
  words: (_, { name, client }) => `used the MCP token ${name} for the first time with ${client}`,
})
export const mcpTokenConnected = defineEvent('mcp_token.connected', {
  kind: 'mcp_token',
  feed: 'access',
  description: 'An MCP token was used for the first time, or by another program or version than before',
  data: { name: text, first: flag, client: optional(text), version: optional(text) },
  words: (_, { name, client, version }) =>
    `connected ${[client ?? 'a program', version].filter(Boolean).join(' ')} with the MCP token ${name}`,
})
export const mcpTokenRevoked = defineEvent('mcp_token.revoked', {
  ...ofToken,
  description: 'An MCP token was revoked',
  data: { name: text },
  words: (_, { name }) => `revoked the MCP token ${name}`,
})
