import { and, desc, eq, gt, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { issueSecret, redeemSecret } from '../../auth/one-time-secrets.ts'
import {
  account,
  interactive,
  isAtLeast,
  permissionOf,
  person,
  recent,
  requireRole,
  roleRefusal,
} from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { placeholders, prepareDeferred } from '../../db/session.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { findOrCreateTokenAgent } from '../agents/token-agents.ts'
import { findOwnAgent } from '../agents/users-and-agents.ts'
import { notify } from '../notifications/service.ts'
import * as organizations from '../organizations/service.ts'
import {
  checkScopesAndToolsets,
  expiryAfter,
  lockOwnSession,
  projectsOf,
  requireBelowLimit,
} from '../tokens/credentials.ts'
import { OAuthError } from './clients.ts'
import { grantCreated } from './events.ts'
import { formTarget, isLoopback } from './redirects.ts'
import { callbackUrl, checkRequest, type GrantRequestData, RefusedRequest } from './requests.ts'
import { endGrants, grantColumns, IDLE_DAYS, isLiveGrant, isOwnGrant, toGrant } from './rows.ts'
import type {
  Grant,
  GrantDecision,
  GrantPage,
  GrantQuery,
  GrantRequest,
  GrantRequested,
  GrantTicket,
} from './schema.ts'
import { oauthClients, oauthGrants as table } from './table.ts'

const MOST_DAYS = 90
const CONSENT_MINUTES = 5
const CODE_MINUTES = 1

const SEE_TEAM = 'Seeing the programs of all members of a team'

export const list = read('grants.list', account('tokens:read'), async (ctx, query: GrantQuery): Promise<GrantPage> => {
  const { organizationId } = query
  const isMember = organizationId !== undefined && ctx.actor.memberships.has(organizationId)
  if (isMember) requireRole(ctx.actor, organizationId, 'owner', SEE_TEAM)
  const page = keyset({ createdAt: table.createdAt }, table.id, query, { sort: 'createdAt', order: 'desc' })
  // Turn 0: the program has not fetched its tokens yet.
  const ofTeam = organizationId && (isMember ? eq(table.organizationId, organizationId) : sql`false`)
  const whose = ofTeam || isOwnGrant(ctx)
  const live = and(whose, isLiveGrant(ctx), sql`${table.turn} > 0`)
  const rows = await ctx.db
    .select(grantColumns)
    .from(table)
    .where(page.where(live))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const found = page.page(rows, query.total ? await ctx.db.$count(table, live) : undefined)
  const refusal = roleRefusal(ctx.actor, ctx.actor.organizationId, 'owner', SEE_TEAM)
  return {
    ...found,
    items: found.items.map((row): Grant => toGrant(ctx, row)),
    can: { listTeam: permissionOf(refusal) },
  }
})

/** Ends a grant of the caller, or of a member of a team that the caller owns. */
export const revoke = write(
  'grants.revoke',
  person,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const [grant] = await ctx.db
      .select({ userId: table.userId, organizationId: table.organizationId })
      .from(table)
      .where(eq(table.id, id))
    const own = grant?.userId === userIdOf(ctx.actor)
    const owns = grant && isAtLeast(ctx.actor.memberships.get(grant.organizationId), 'owner')
    if (!own && !owns) throw notFound('grant', id)
    await endGrants(ctx, eq(table.id, id), own ? 'The user ended it' : 'An owner of the team ended it')
    return { id, deleted: true }
  },
  { destructive: true, idempotent: true },
)

// ---- the question

/** Checks the request of a program. Throws `invalid` for its mistakes. */
const readRequest = (ctx: Ctx, base: string, request: string): Promise<GrantRequestData> =>
  checkRequest(ctx, base, new URLSearchParams(request)).catch((error: unknown) => {
    if (error instanceof OAuthError || error instanceof RefusedRequest) throw invalid('/request', error.message)
    throw error
  })

const placeOf = ({ redirectUri }: GrantRequestData): GrantRequested['place'] =>
  isLoopback(redirectUri) ? 'computer' : redirectUri.startsWith('https:') ? 'web' : 'app'

/** The host of the program's document. Only a document proves where a program comes from. */
const hostOf = ({ client }: GrantRequestData): string | null =>
  client.kind === 'document' ? new URL(client.id).host : null

/** Returns the request of a program, to be shown to the user. */
export const showGrantRequest = flow(
  'grants.look',
  interactive,
  async (ctx, { request, base }: GrantRequest & { base: string }): Promise<GrantRequested> => {
    const asked = await readRequest(ctx, base, request)
    return {
      name: asked.client.name,
      host: hostOf(asked),
      place: placeOf(asked),
      target: formTarget(asked.redirectUri),
      scopes: asked.scopes,
      before: await earlierChoice(ctx, asked),
    }
  },
)

/**
 * Returns what the user chose for the same program before, if it requests no more now. Only for a program with a proven
 * host and a web address: any program on a computer can use the name of another one. The new grant ends no later than
 * the one that the user agreed to.
 */
async function earlierChoice(ctx: Ctx, asked: GrantRequestData): Promise<GrantRequested['before']> {
  if (hostOf(asked) === null || placeOf(asked) !== 'web') return null
  const [before] = await ctx.db
    .select({
      organizationId: table.organizationId,
      agentId: table.agentId,
      projects: table.projects,
      projectId: table.projectId,
      scopes: table.scopes,
      toolsets: table.toolsets,
      expiresAt: table.expiresAt,
    })
    .from(table)
    .where(and(isOwnGrant(ctx), eq(table.clientId, asked.client.id), isLiveGrant(ctx), sql`${table.turn} > 0`))
    .orderBy(desc(table.createdAt))
    .limit(1)
  if (!before) return null
  const { expiresAt, scopes, ...choice } = before
  const days = Math.floor((Date.parse(expiresAt) - Date.parse(ctx.now)) / 86_400_000)
  if (days < 1 || !asked.scopes.every((scope) => isWithin(scopes, scope))) return null
  const isThere = await requirePlace(ctx, choice).then(
    () => true,
    () => false,
  )
  return isThere ? { ...choice, scopes: asked.scopes, days } : null
}

// ---- the decision

type DecisionData = {
  asked: GrantRequestData
  allowed: (Omit<GrantDecision, 'request' | 'decision'> & { organizationId: string }) | null
}

const storeDecision = write('grants.keep', recent(15), async (ctx, decided: DecisionData): Promise<GrantTicket> => {
  const boundTo = ctx.actor.credentialId as string
  const data = { ...decided }
  const purpose = purposeOf('consent', decided.allowed?.projects)
  return { ticket: await issueSecret(ctx, { purpose, minutes: CONSENT_MINUTES, boundTo, data }) }
})

/** Returns a ticket for the form that redirects the user to the program. Only the same login session can use it. */
export const decide = flow(
  'grants.decide',
  recent(15),
  async (ctx, { base, request, decision, ...choice }: GrantDecision & { base: string }): Promise<GrantTicket> => {
    const asked = await readRequest(ctx, base, request)
    if (decision === 'deny') return storeDecision(ctx, { asked, allowed: null })
    const organizationId = choice.organizationId ?? currentOrganization(ctx.actor)
    await requirePlace(ctx, { ...choice, organizationId })
    const scopes = choice.scopes ?? asked.scopes
    if (scopes.length === 0) throw invalid('/scopes', 'Choose at least one scope.')
    checkScopesAndToolsets(ctx, scopes, choice.toolsets)
    const beyond = scopes.find((scope) => !isWithin(asked.scopes, scope))
    if (beyond) throw invalid('/scopes', `The program did not request the scope ${beyond}.`)
    return storeDecision(ctx, { asked, allowed: { ...choice, organizationId, scopes } })
  },
)

type Place = Parameters<typeof projectsOf>[1] & { agentId?: string | null }

/** Throws unless the user is in the team, sees the projects, and may work as the agent. */
async function requirePlace(ctx: Ctx, place: Place): ReturnType<typeof projectsOf> {
  const { organizationId, agentId } = place
  await organizations.get(ctx, { id: organizationId })
  if (agentId) await findOwnAgent(ctx, organizationId, agentId)
  return projectsOf(ctx, place)
}

/**
 * Secrets of grants with a project limit have their own purpose: an older server, which ignores limits, rejects them.
 */
const purposeOf = (kind: 'consent' | 'code', projects: readonly string[] | null | undefined) =>
  projects ? (`grant_${kind}_limited` as const) : (`grant_${kind}` as const)

/** Returns whether the requested scopes include this one: `write` includes `read`, `read` includes `notes:read`. */
function isWithin(asked: readonly string[], scope: string): boolean {
  const [access = '', resource] = scope.split(':').reverse()
  const accesses = access === 'read' ? ['read', 'write'] : ['write']
  return accesses.some((a) => asked.includes(a) || (resource !== undefined && asked.includes(`${resource}:${a}`)))
}

const unusableTicketError = () =>
  new AppError(
    'forbidden',
    'This request for access was answered already, is older than 5 minutes, or belongs to another session. Start again in the program.',
  )

const now = sql.placeholder('now')
const insertGrant = prepareDeferred((db) =>
  db.insert(table).values({
    ...placeholders(
      'id',
      'userId',
      'organizationId',
      'clientId',
      'clientName',
      'clientHost',
      'agentId',
      'projects',
      'projectId',
      'scopes',
      'toolsets',
      'idleUntil',
      'expiresAt',
    ),
    createdAt: now,
    updatedAt: now,
  }),
)

/** Stores the grant. Returns the callback address of the program, with a code if the user authorized it. */
export const consent = write(
  'grants.consent',
  recent(15),
  async (ctx, { ticket, base }: { ticket: string; base: string }): Promise<{ location: string }> => {
    const boundTo = ctx.actor.credentialId as string
    const found =
      (await redeemSecret(ctx, 'grant_consent', ticket, boundTo)) ??
      (await redeemSecret(ctx, 'grant_consent_limited', ticket, boundTo))
    if (!found) throw unusableTicketError()
    const { asked, allowed } = found.data as DecisionData
    if (!allowed) return { location: callbackUrl(asked, base, { error: 'access_denied' }) }
    await lockOwnSession(ctx)
    // Rights may have changed since the decision.
    const { projects, projectId } = await requirePlace(ctx, allowed)
    if ((await ctx.db.$count(oauthClients, eq(oauthClients.id, asked.client.id))) === 0) throw unusableTicketError()
    await requireBelowLimit(ctx, 'authorized programs', table, gt(table.idleUntil, ctx.now))
    const userId = userIdOf(ctx.actor)
    const { organizationId, agentId, scopes = asked.scopes, toolsets = [], days = MOST_DAYS } = allowed
    const name = asked.client.name
    const id = newId()
    insertGrant(ctx.db, {
      id,
      userId,
      organizationId,
      clientId: asked.client.id,
      clientName: name,
      clientHost: hostOf(asked),
      agentId:
        agentId ?? (await findOrCreateTokenAgent(ctx, { organizationId, userId, token: ctx.actor.name, client: name })),
      projects,
      projectId,
      scopes,
      toolsets,
      idleUntil: expiryAfter(ctx.now, IDLE_DAYS),
      expiresAt: expiryAfter(ctx.now, days),
      now: ctx.now,
    })
    ctx.emit(grantCreated, { subjectId: id, userId, organizationId, data: { client: name, scopes, projects } })
    await notify(ctx, {
      userId,
      reason: 'security',
      title: `You authorized ${name}`,
      message: 'The program can act for you until you end its access.',
      link: '/settings/grants',
    })
    const code = await issueSecret(ctx, {
      purpose: purposeOf('code', projects),
      minutes: CODE_MINUTES,
      userId,
      data: { grantId: id, clientId: asked.client.id, redirectUri: asked.redirectUri, challenge: asked.challenge },
    })
    return { location: callbackUrl(asked, base, { code }) }
  },
)
