import {
  array,
  bool,
  id,
  instant,
  int,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'
import { Login } from '../accounts/schema.ts'

const name = title(100, { example: 'laptop' })
/** `write` includes `read`; both can be limited to a resource. Keys and tokens cannot administer the instance. */
const scope = text(60, { pattern: '^((([a-z-]+):)?(read|write))$', example: 'write' })
const scopes = array(scope, 50, {
  uniqueItems: true,
  description: 'Default: `write`. Limit to a resource: `notes:read`',
})
const toolsets = array(text(40, { pattern: '^[a-z_]+$', example: 'core' }), 20, {
  uniqueItems: true,
  description: 'Toolsets that it can use, such as `core`, `work` or `notes`. Default: all tools',
})
const expiresInDays = int({ min: 1, max: 3650, example: 90 })

const shared = {
  ...recordFields,
  name,
  scopes,
  prefix: text(20, { example: 'svc_' }),
  last4: text(4, { example: 'x7Qz' }),
  lastUsedAt: nullable(instant()),
  expiresAt: instant(),
  revokedAt: nullable(instant()),
}
const shownOnce = { token: optional(text(200, { description: 'Returned only once, now', example: 'svc_…' })) }

export const ApiKey = object({
  ...shared,
  organizationId: nullable(id({ description: 'Limits the key to this organization' })),
})
export type ApiKey = Static<typeof ApiKey>
export const ApiKeyCreated = object({ ...ApiKey.properties, ...shownOnce })
export type ApiKeyCreated = Static<typeof ApiKeyCreated>
export const ApiKeyCreate = object({
  name,
  scopes: optional(scopes),
  organizationId: optional(id()),
  expiresInDays: optional(expiresInDays),
})
export type ApiKeyCreate = Static<typeof ApiKeyCreate>
export const KeyExchange = object({
  ...Login.properties,
  name: optional(name),
  scopes: optional(scopes),
  expiresInDays: optional(expiresInDays),
})
export type KeyExchange = Static<typeof KeyExchange>
export const ApiKeyPage = pageOf(ApiKey)
export type ApiKeyPage = Static<typeof ApiKeyPage>

export const McpToken = object({
  ...shared,
  kind: oneOf(['live', 'test']),
  organizationId: id(),
  toolsets,
  projectId: nullable(id()),
  agentId: nullable(id()),
  agentName: nullable(text(100, { example: 'Claude Code (laptop)' })),
  lastUsedIp: nullable(text(64)),
  useCount: int({ example: 0 }),
})
export type McpToken = Static<typeof McpToken>
export const McpTokenCreated = object({ ...McpToken.properties, ...shownOnce })
export type McpTokenCreated = Static<typeof McpTokenCreated>
export const McpTokenCreate = object({
  name,
  organizationId: id(),
  kind: optional(
    oneOf(['live', 'test'], { description: 'Default: live. test works in the sandbox of the organization' }),
  ),
  scopes: optional(scopes),
  toolsets: optional(toolsets),
  projectId: optional(id({ description: 'Default project of its tool calls' })),
  agentId: optional(id({ description: 'The agent that uses it. Default: one named after the program and the token' })),
  client: optional(title(60, { description: 'The program that uses it, if known', example: 'Claude Code' })),
  expiresInDays: optional(expiresInDays),
})
export type McpTokenCreate = Static<typeof McpTokenCreate>
export const McpTokenPage = pageOf(McpToken)
export type McpTokenPage = Static<typeof McpTokenPage>

export const TokenQuery = object({
  ...paging('createdAt', 'name'),
  active: optional(bool({ description: 'true: only those that work; false: only revoked and expired ones' })),
})
export type TokenQuery = Static<typeof TokenQuery>
