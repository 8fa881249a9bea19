import {
  array,
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
/** `read ⊂ write`, or narrowed to a resource. Instance administration is not for keys and tokens. */
const scope = text(60, { pattern: '^((([a-z-]+):)?(read|write))$', example: 'write' })
const scopes = array(scope, 50, { uniqueItems: true, description: '`write` unless told; narrowed like `notes:read`' })
const toolsets = array(text(40, { pattern: '^[a-z_]+$', example: 'core' }), 20, {
  uniqueItems: true,
  description: 'Which tools it sees; all unless told',
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
const shownOnce = { token: optional(text(200, { description: 'Shown now and never again', example: 'svc_…' })) }

export const ApiKey = object({
  ...shared,
  organizationId: nullable(id({ description: 'Reaches only this organization' })),
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
    oneOf(['live', 'test'], { description: 'live unless told; test works in the sandbox twin of the organization' }),
  ),
  scopes: optional(scopes),
  toolsets: optional(toolsets),
  projectId: optional(id({ description: 'Default project of its calls' })),
  agentId: optional(id({ description: 'The agent that speaks through it' })),
  expiresInDays: optional(expiresInDays),
})
export type McpTokenCreate = Static<typeof McpTokenCreate>
export const McpTokenPage = pageOf(McpToken)
export type McpTokenPage = Static<typeof McpTokenPage>

export const TokenQuery = object(paging('createdAt', 'name'))
export type TokenQuery = Static<typeof TokenQuery>
