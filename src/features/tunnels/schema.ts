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
  partial,
  permissions,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'

const accesses = ['private', 'organization', 'public'] as const
export type Access = (typeof accesses)[number]
const states = ['pending', 'connecting', 'online', 'offline'] as const

/** Part of a host name, where two hyphens separate the service from the tunnel. */
const label = '^[a-z0-9]+(-[a-z0-9]+)*$'
const slug = text(30, { minLength: 1, pattern: label, example: 'build-1' })
const slugLike = text(30, { minLength: 1, pattern: label, example: 'web' })
const name = title(100, { example: 'Build machine' })
const labels = array(title(50, { example: 'linux' }), 20, { uniqueItems: true })
const access = oneOf(accesses, {
  description: 'Who can reach it, if the machine also allows it: its owner, members of the team, or anyone',
})
const serviceName = text(30, { example: 'web' })
const who = array(text(40, { example: 'members' }), 100, {
  description: 'Who can use it: owner, members, anyone, or ids of users',
})

export const OfferedService = object({
  name: serviceName,
  who,
  ok: nullable(bool({ description: 'Whether it responded at the last heartbeat' })),
})
export type OfferedService = Static<typeof OfferedService>

export const Tunnel = object({
  ...recordFields,
  organizationId: id(),
  ownerId: id(),
  name,
  slug,
  access,
  labels,
  paused: bool({ description: 'The machine is connected, but no one can reach it' }),
  status: oneOf(states),
  hostname: nullable(text(255, { example: 'build-1.internal' })),
  os: nullable(text(50, { example: 'linux' })),
  architecture: nullable(text(50, { example: 'x64' })),
  clientVersion: nullable(text(50, { example: '1.0.0' })),
  lastSeenAt: nullable(instant()),
  services: array(
    object({
      ...OfferedService.properties,
      url: nullable(text(500, { example: 'https://web--build-1.tunnels.example.com' })),
    }),
    50,
  ),
  mcpServers: array(
    object({
      name: serviceName,
      who,
      url: text(500, { example: 'https://tutti.example.com/mcp/tunnels/build-1/fs' }),
    }),
    50,
    { description: 'MCP servers of the machine, with the address for agents' },
  ),
  can: optional(permissions(['update', 'remove', 'claim', 'reach', 'act', 'watch'])),
})
export type Tunnel = Static<typeof Tunnel>
export const TunnelPage = object({ ...pageOf(Tunnel).properties, can: optional(permissions(['register'])) })
export type TunnelPage = Static<typeof TunnelPage>

export const TunnelQuery = object({
  ...paging('name', 'updatedAt', 'createdAt'),
  label: optional(text(50)),
})
export type TunnelQuery = Static<typeof TunnelQuery>

export const TunnelPatch = partial(object({ name, slug, access, labels, paused: bool() }))
export type TunnelPatch = Static<typeof TunnelPatch>

export const TunnelRegister = object({
  tunnelId: optional(
    id({ description: 'One of your tunnels that another machine will claim; the other fields change it' }),
  ),
  name: optional(name),
  slug: optional(slug),
  access: optional(access),
  labels: optional(labels),
})
export type TunnelRegister = Static<typeof TunnelRegister>

export const TunnelRegistered = object({
  tunnel: Tunnel,
  nonce: text(100, { example: 'b3Blbi1zZXNhbWU', description: 'Claims the tunnel, once; shown once' }),
  expiresAt: instant(),
})
export type TunnelRegistered = Static<typeof TunnelRegistered>

const about = (example: string, most = 50) => text(most, { minLength: 1, example })
export const TunnelClaim = object({
  nonce: text(100, { minLength: 1, example: 'b3Blbi1zZXNhbWU' }),
  hostname: about('build-1.internal', 255),
  os: about('linux'),
  architecture: about('x64'),
  clientVersion: about('1.0.0'),
})
export type TunnelClaim = Static<typeof TunnelClaim>

export const TunnelClaimed = object({
  tunnelId: id(),
  ownerId: id(),
  name,
  slug,
  token: text(100, { example: 'svc_tun_…', description: 'The credential of the machine; shown once' }),
})
export type TunnelClaimed = Static<typeof TunnelClaimed>

export const Heartbeat = object({
  generation: int({ min: 1, example: 1 }),
  rttMs: optional(nullable(int({ max: 600_000, example: 12 }))),
  services: array(object({ name: serviceName, ok: bool() }), 50),
})
export type Heartbeat = Static<typeof Heartbeat>
export const HeartbeatTaken = object({
  leaseUntil: instant(),
  drain: bool({ description: 'The server is about to stop: connect again' }),
  services: array(
    object({
      name: text(30, { example: 'web' }),
      url: nullable(text(300, { example: 'https://web--build-1.example.com' })),
    }),
    50,
    { description: 'Where each service can be opened; null if this server opens none' },
  ),
})
export type HeartbeatTaken = Static<typeof HeartbeatTaken>

export const TunnelStatus = object({
  id: id(),
  status: oneOf(states),
  since: nullable(instant({ description: 'Of the last connection' })),
  generation: int({ example: 3 }),
  instance: nullable(id({ description: 'The server process that it is connected to' })),
  rttMs: nullable(int({ example: 12 })),
  streams: nullable(
    int({ example: 0, description: 'Number of open streams; null if another process holds the connection' }),
  ),
  services: array(OfferedService, 50),
  requests: int({ max: Number.MAX_SAFE_INTEGER, example: 120, description: 'Of the last 24 hours' }),
  bytes: int({ max: Number.MAX_SAFE_INTEGER, example: 48_000, description: 'Of the last 24 hours, both ways' }),
})
export type TunnelStatus = Static<typeof TunnelStatus>

export const ServiceQuery = object({
  service: optional(slugLike),
  mcp: optional(
    text(30, { minLength: 1, pattern: label, example: 'fs', description: 'An MCP server, instead of a service' }),
  ),
  path: optional(
    text(4000, {
      pattern: '^/[\\x21-\\x7e]*$',
      example: '/socket',
      description: 'Path and query at the service; default: /',
    }),
  ),
  ticket: optional(text(4096, { description: 'From `POST /api/ws/ticket`' })),
  token: optional(text(4096, { description: 'A credential, for clients that can send neither a header nor a cookie' })),
})

export const TunnelEnter = object({
  to: text(2000, { minLength: 1, example: 'https://web--build-1.tunnels.example.com/' }),
})
export const Entrance = object({
  location: text(2200, { example: 'https://web--build-1.tunnels.example.com/.tutti/enter?code=svc_one_…' }),
})
