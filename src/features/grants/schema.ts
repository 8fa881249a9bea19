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
  permissions,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'
import { defaultProject, limitedTo, scope, toolsetName } from '../tokens/schema.ts'

const scopes = array(scope, 50, { uniqueItems: true })
const toolsets = array(toolsetName, 20, {
  uniqueItems: true,
  description: 'Toolsets that it can use. Empty: all tools',
})
const program = {
  name: text(100, { example: 'Claude Code', description: 'Name that the program chose for itself' }),
  host: nullable(text(255, { example: 'claude.ai', description: 'The host that published its description, if any' })),
}

export const Grant = object({
  ...recordFields,
  ...program,
  user: object({ id: id(), name: text(100, { example: 'Ada' }) }),
  organizationId: id(),
  agentId: nullable(id()),
  agentName: nullable(text(100, { example: 'Claude Code (Ada)' })),
  projects: limitedTo,
  defaultProject: nullable(defaultProject),
  projectId: nullable(id({ description: 'The same as defaultProject' })),
  scopes,
  toolsets,
  lastUsedAt: nullable(instant()),
  useCount: int({ example: 12 }),
  expiresAt: instant({ description: 'When the access ends. It ends earlier if it is not used for 30 days' }),
  revokedAt: nullable(instant()),
  can: permissions(['revoke']),
})
export type Grant = Static<typeof Grant>
export const GrantPage = object({ ...pageOf(Grant).properties, can: permissions(['listTeam']) })
export type GrantPage = Static<typeof GrantPage>
export const GrantQuery = object({
  ...paging('createdAt'),
  organizationId: optional(id({ description: 'The programs of all members of this team; only for its owners' })),
})
export type GrantQuery = Static<typeof GrantQuery>

/** The query of `/oauth/authorize`, as it was opened. */
const request = text(8000, {
  minLength: 1,
  example: 'client_id=…&redirect_uri=…',
  description: 'The query string of the request',
})
export const GrantRequest = object({ request })
export type GrantRequest = Static<typeof GrantRequest>

export const GrantRequested = object({
  ...program,
  place: oneOf(['web', 'computer', 'app'], { description: 'Where it waits: a web site, this computer, or an app' }),
  target: text(300, { example: 'https://claude.ai', description: 'Where the response goes' }),
  scopes,
  /** The earlier choice for this program, if the user need not be asked again. */
  before: nullable(
    object({
      organizationId: id(),
      agentId: nullable(id()),
      projects: limitedTo,
      projectId: nullable(defaultProject),
      scopes,
      toolsets,
      days: int({ min: 1, max: 90, example: 60, description: 'Days until the earlier access ends' }),
    }),
  ),
})
export type GrantRequested = Static<typeof GrantRequested>

export const GrantDecision = object({
  request,
  decision: oneOf(['allow', 'deny']),
  organizationId: optional(id({ description: 'The team it works in. Default: the current one' })),
  agentId: optional(id({ description: 'The agent it works as. Default: one named after the program' })),
  projects: optional(limitedTo),
  defaultProject: optional(defaultProject),
  projectId: optional(id({ description: 'The same as defaultProject' })),
  scopes: optional(scopes),
  toolsets: optional(toolsets),
  days: optional(int({ min: 1, max: 90, example: 90, description: 'Days until it ends. Default: 90' })),
})
export type GrantDecision = Static<typeof GrantDecision>
export const GrantTicket = object({
  ticket: text(100, { description: 'For POST /oauth/consent, once, within 5 minutes' }),
})
export type GrantTicket = Static<typeof GrantTicket>

export const OauthClient = object({
  id: text(2000, { example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10' }),
  kind: oneOf(['document', 'registered', 'added']),
  name: text(100, { example: 'Build robot' }),
  redirectUris: array(text(2000, { example: 'https://robot.example.com/callback' }), 50),
  createdAt: instant(),
  grants: int({ example: 3, description: 'Number of people who authorized it' }),
  lastUsedAt: nullable(instant()),
})
export type OauthClient = Static<typeof OauthClient>
export const OauthClientPage = pageOf(OauthClient)
export type OauthClientPage = Static<typeof OauthClientPage>
export const OauthClientQuery = object(paging('createdAt'))
export type OauthClientQuery = Static<typeof OauthClientQuery>
export const OauthClientAdd = object({
  name: title(100, { example: 'Build robot' }),
  redirectUris: array(text(2000, { example: 'https://robot.example.com/callback' }), 50),
})
export type OauthClientAdd = Static<typeof OauthClientAdd>
