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
  permissions,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'
import { Login } from '../accounts/schema.ts'

const name = title(100, { example: 'laptop' })
/** `write` includes `read`; both can be limited to a resource. Keys and tokens cannot administer the server. */
export const scope = text(60, { pattern: '^((([a-z-]+):)?(read|write))$', example: 'write' })
const scopes = array(scope, 50, {
  uniqueItems: true,
  description: 'Default: `write`. Limit to a resource: `notes:read`',
})
export const toolsetName = text(40, { pattern: '^[a-z_]+$', example: 'core' })
const toolsets = array(toolsetName, 20, {
  uniqueItems: true,
  description: 'Toolsets that it can use, such as `core`, `work` or `notes`. Default: all tools',
})
const expiresInDays = int({ min: 1, max: 3650, example: 90 })

/** The projects that a credential is limited to. */
const projectLimit = array(id(), 100, {
  uniqueItems: true,
  description: 'The only projects that it sees. It cannot be changed later',
})
export const limitedTo = nullable(projectLimit)
export const defaultProject = id({ description: 'Default project of its calls' })

const cost = {
  count: int({ example: 55, description: 'How many tools' }),
  tokens: int({ example: 6300, description: 'How many tokens a model reads for their list' }),
}

const shared = {
  ...recordFields,
  name,
  scopes,
  projects: limitedTo,
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
  projects: optional(limitedTo),
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
  defaultProject: nullable(defaultProject),
  projectId: nullable(id({ description: 'The same as defaultProject' })),
  agentId: nullable(id()),
  agentName: nullable(text(100, { example: 'Claude Code (laptop)' })),
  lastUsedIp: nullable(text(64)),
  useCount: int({ example: 0 }),
  firstUsedAt: nullable(instant()),
  client: nullable(
    object(
      {
        name: text(60, { example: 'Claude Code' }),
        version: nullable(text(40, { example: '2.1.40' })),
      },
      { description: 'The program that last used it, by the name that it sent; null if none sent a name' },
    ),
  ),
  tools: object(cost, { description: 'What it lists now: its toolsets, within its scopes and your role' }),
})
export type McpToken = Static<typeof McpToken>
export const tokenActions = ['create', 'revoke'] as const
export const McpTokenDetail = object({ ...McpToken.properties, can: permissions(['revoke']) })
export type McpTokenDetail = Static<typeof McpTokenDetail>
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
  projects: optional(limitedTo),
  defaultProject: optional(defaultProject),
  projectId: optional(id({ description: 'The same as defaultProject' })),
  agentId: optional(id({ description: 'The agent that uses it. Default: one named after the program and the token' })),
  client: optional(title(60, { description: 'The program that uses it, if known', example: 'Claude Code' })),
  expiresInDays: optional(expiresInDays),
})
export type McpTokenCreate = Static<typeof McpTokenCreate>
export const McpTokenPage = object({ ...pageOf(McpToken).properties, can: permissions(tokenActions) })
export type McpTokenPage = Static<typeof McpTokenPage>

const toolset = { name: text(40, { example: 'core' }), ...cost }
export const ToolsetList = object({
  encoding: text(20, { example: 'o200k' }),
  all: object(cost, { description: 'All tools, for a token with the scope `write`' }),
  items: array(object(toolset), 100),
})
export type ToolsetList = Static<typeof ToolsetList>

export const TokenQuery = object({
  ...paging('createdAt', 'name'),
  active: optional(bool({ description: 'true: only valid ones; false: only revoked and expired ones' })),
})
export type TokenQuery = Static<typeof TokenQuery>

export const McpTokenQuery = object({
  ...TokenQuery.properties,
  agentId: optional(id({ description: 'Only tokens of this agent' })),
  organizationId: optional(id({ description: 'Only tokens of this organization' })),
})
export type McpTokenQuery = Static<typeof McpTokenQuery>
