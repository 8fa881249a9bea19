/**
 * The client of the Web API, typed by the routes of each feature. Only their types are imported, so no server code gets
 * into the page. `ok` returns the data of a response, or throws a Problem.
 */
import type { AnyElysia } from 'elysia'
import type { accountRoutes } from '../features/accounts/routes.ts'
import type { activityRoutes } from '../features/activity/routes.ts'
import type { adminRoutes } from '../features/admin/routes.ts'
import type { agentRoutes } from '../features/agents/routes.ts'
import type { assistantRoutes } from '../features/assistant/routes.ts'
import type { attachmentRoutes } from '../features/attachments/routes.ts'
import type { changeRoutes } from '../features/changes/routes.ts'
import type { codeRoutes } from '../features/codes/routes.ts'
import type { communityRoutes } from '../features/community/routes.ts'
import type { contactRoutes } from '../features/contact/routes.ts'
import type { decisionRoutes } from '../features/decisions/routes.ts'
import type { grantRoutes } from '../features/grants/routes.ts'
import type { homeRoutes } from '../features/home/routes.ts'
import type { hubRoutes } from '../features/hub/routes.ts'
import type { integrationRoutes } from '../features/integrations/routes.ts'
import type { inviteRoutes } from '../features/invites/routes.ts'
import type { issueRoutes } from '../features/issues/routes.ts'
import type { mailRoutes } from '../features/mail/routes.ts'
import type { marketplaceRoutes } from '../features/marketplace/routes.ts'
import type { memoryRoutes } from '../features/memory/routes.ts'
import type { noteRoutes } from '../features/notes/routes.ts'
import type { notificationRoutes } from '../features/notifications/routes.ts'
import type { nowRoutes } from '../features/now/routes.ts'
import type { oauthRoutes } from '../features/oauth/routes.ts'
import type { onboardingRoutes } from '../features/onboarding/routes.ts'
import type { organizationRoutes } from '../features/organizations/routes.ts'
import type { passkeyRoutes } from '../features/passkeys/routes.ts'
import type { planningRoutes } from '../features/planning/routes.ts'
import type { projectRoutes } from '../features/projects/routes.ts'
import type { pushRoutes } from '../features/push/routes.ts'
import type { repositoryRoutes } from '../features/repositories/routes.ts'
import type { searchRoutes } from '../features/search/routes.ts'
import type { sessionRoutes } from '../features/sessions/routes.ts'
import type { settingRoutes } from '../features/settings/routes.ts'
import type { siteRoutes } from '../features/site/routes.ts'
import type { skillRoutes } from '../features/skills/routes.ts'
import type { specRoutes } from '../features/specs/routes.ts'
import type { sponsorRoutes } from '../features/sponsors/routes.ts'
import type { storyRoutes } from '../features/stories/routes.ts'
import type { syncRoutes } from '../features/sync/routes.ts'
import type { taskRoutes } from '../features/tasks/routes.ts'
import type { teamRoutes } from '../features/teams/routes.ts'
import type { tokenRoutes } from '../features/tokens/routes.ts'
import type { trackerRoutes } from '../features/tracker/routes.ts'
import type { trashRoutes } from '../features/trash/routes.ts'
import type { tunnelRoutes } from '../features/tunnels/routes.ts'
import type { uploadRoutes } from '../features/uploads/routes.ts'
import type { viewRoutes } from '../features/views/routes.ts'
import type { workflowRoutes } from '../features/workflow/routes.ts'
import type { workspaceRoutes } from '../features/workspaces/routes.ts'
import { impersonationToken } from './account/impersonation.ts'
import { confirmIdentity } from './account/reauth.ts'
import { renewSession } from './account/session-renewal.ts'
import { createRouteClient } from './lib/route-client.ts'
import { sendWithProgress } from './lib/upload.ts'
import { Problem } from './problem.ts'

const client = <R extends AnyElysia>() => createRouteClient<R>((path, init) => send(path, init))

export const accounts = client<ReturnType<typeof accountRoutes>>().api
export const activities = client<ReturnType<typeof activityRoutes>>().api
export const admin = client<ReturnType<typeof adminRoutes>>().api.admin
export const agents = client<ReturnType<typeof agentRoutes>>().api
export const assistant = client<ReturnType<typeof assistantRoutes>>().api
export const attachments = client<ReturnType<typeof attachmentRoutes>>().api
export const decisions = client<ReturnType<typeof decisionRoutes>>().api
export const features = client<ReturnType<typeof workflowRoutes>>().api
export const changes = client<ReturnType<typeof changeRoutes>>().api
export const codes = client<ReturnType<typeof codeRoutes>>().api
export const grants = client<ReturnType<typeof grantRoutes>>().api
export const homes = client<ReturnType<typeof homeRoutes>>().api
export const hub = client<ReturnType<typeof hubRoutes>>().api
export const issues = client<ReturnType<typeof issueRoutes>>().api
export const invites = client<ReturnType<typeof inviteRoutes>>().api
export const memories = client<ReturnType<typeof memoryRoutes>>().api
export const notes = client<ReturnType<typeof noteRoutes>>().api
export const mail = client<ReturnType<typeof mailRoutes>>().api.admin
export const now = client<ReturnType<typeof nowRoutes>>().api
export const notifications = client<ReturnType<typeof notificationRoutes>>().api
export const onboarding = client<ReturnType<typeof onboardingRoutes>>().api
export const organizations = client<ReturnType<typeof organizationRoutes>>().api
export const planning = client<ReturnType<typeof planningRoutes>>().api
export const projects = client<ReturnType<typeof projectRoutes>>().api
export const push = client<ReturnType<typeof pushRoutes>>().api
export const repositories = client<ReturnType<typeof repositoryRoutes>>().api
export const skills = client<ReturnType<typeof skillRoutes>>().api
export const specs = client<ReturnType<typeof specRoutes>>().api
export const sessions = client<ReturnType<typeof sessionRoutes>>().api
export const search = client<ReturnType<typeof searchRoutes>>().api
export const stories = client<ReturnType<typeof storyRoutes>>().api
export const integrations = client<ReturnType<typeof integrationRoutes>>().api
export const connections = client<ReturnType<typeof oauthRoutes>>().api
export const passkeys = client<ReturnType<typeof passkeyRoutes>>().api
export const uploads = client<ReturnType<typeof uploadRoutes>>().api
export const sync = client<ReturnType<typeof syncRoutes>>().api
export const tasks = client<ReturnType<typeof taskRoutes>>().api
export const views = client<ReturnType<typeof viewRoutes>>().api
export const teams = client<ReturnType<typeof teamRoutes>>().api
export const trash = client<ReturnType<typeof trashRoutes>>().api
export const community = client<ReturnType<typeof communityRoutes>>().api
export const contact = client<ReturnType<typeof contactRoutes>>().api
export const marketplace = client<ReturnType<typeof marketplaceRoutes>>().api
export const settings = client<ReturnType<typeof settingRoutes>>().api
export const site = client<ReturnType<typeof siteRoutes>>().api
export const sponsors = client<ReturnType<typeof sponsorRoutes>>().api
export const tracker = client<ReturnType<typeof trackerRoutes>>().api
export const tokens = client<ReturnType<typeof tokenRoutes>>().api
export const tunnels = client<ReturnType<typeof tunnelRoutes>>().api.tunnels
export const workspaces = client<ReturnType<typeof workspaceRoutes>>().api

interface Answer<T> {
  data: T
  error: unknown
  status: number
}

export async function ok<T>(call: Promise<Answer<T>>): Promise<NonNullable<T>> {
  const { data, error, status } = await call
  if (!error) return data as NonNullable<T>
  const body = (error as { value?: unknown }).value
  throw error instanceof Problem ? error : new Problem(status, (body ?? {}) as Record<string, unknown>)
}

/** Like `ok`, with the id by which the server undoes the change; undefined if it recorded none. */
export async function okUndoable<T>(
  call: Promise<Answer<T> & { response: Response }>,
): Promise<{ data: NonNullable<T>; changeId: string | undefined }> {
  const answer = await call
  return { data: await ok(Promise.resolve(answer)), changeId: answer.response.headers.get('x-change-id') ?? undefined }
}

interface FileOptions {
  /** Called with the share of the file that was sent, from 0 to 1. */
  onProgress?(share: number): void
  signal?: AbortSignal
}

/** Uploads a file as a form, which the typed client cannot: the routes declare the body as the server parses it. */
export async function sendFile<T>(path: string, file: File, { onProgress, signal }: FileOptions = {}): Promise<T> {
  const body = new FormData()
  body.append('file', file)
  const transport = onProgress && ((_: unknown, init: RequestInit) => sendWithProgress(path, init, onProgress))
  const answer = await send(path, { method: 'POST', body, ...(signal && { signal }) }, transport)
  const value = (await answer.json()) as Record<string, unknown>
  if (!answer.ok) throw new Problem(answer.status, value)
  return value as T
}

/** Sends JSON and returns the stream of server-sent events, which the types of routes cannot describe. */
export async function openEvents(path: string, body: object, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const headers = {
    accept: 'text/event-stream',
    'content-type': 'application/json',
    'idempotency-key': newIdempotencyKey(),
  }
  const answer = await send(path, { method: 'POST', headers, body: JSON.stringify(body), signal })
  if (answer.ok && answer.body) return answer.body
  throw new Problem(answer.status, (await answer.json()) as Record<string, unknown>)
}

/** Restores a deleted record. Its path is known only at run time, so no typed route fits. */
export async function restoreAt(path: string, { headers }: ReturnType<typeof writeOptions>): Promise<void> {
  const answer = await send(`/api${path}/restore`, { method: 'POST', headers })
  if (!answer.ok) throw new Problem(answer.status, (await answer.json()) as Record<string, unknown>)
}

/** Downloads a file with the session and team of this tab, which a plain link would not send. */
export async function readFile(path: string): Promise<Blob> {
  const answer = await send(path)
  if (!answer.ok) throw new Problem(answer.status, (await answer.json()) as Record<string, unknown>)
  return answer.blob()
}

/** An idempotency key: the server runs a request with the same key once. */
export const newIdempotencyKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')

/** Headers of a write: the server refuses it if the record has another version, and runs it once for this key. */
export const writeOptions = (version?: number, key = newIdempotencyKey()) => ({
  headers: { ...(version !== undefined && { 'if-match': `"${version}"` }), 'idempotency-key': key },
})

// ---- the team of this tab, and the session

let organizationId: string | undefined
/**
 * Sends this team with every request of the tab, so that switching in one tab does not affect others. Returns whether
 * the tab had another team before.
 */
export function setRequestTeam(id: string): boolean {
  const changed = organizationId !== undefined && organizationId !== id
  organizationId = id
  return changed
}

export const requestTeam = (): string | undefined => organizationId

/** Sends no team until the next one is chosen, because the user of the tab changes. */
export const clearRequestTeam = (): void => {
  organizationId = undefined
}

type Transport = (input: RequestInfo | URL, init: RequestInit) => Promise<Response>

async function send(
  input: RequestInfo | URL,
  init: RequestInit = {},
  transport: Transport = (...request) => fetch(...request),
): Promise<Response> {
  const request = () => {
    const headers = new Headers(init.headers)
    // A change that waited for the connection names the team that it was made in.
    if (organizationId && !headers.has('x-organization-id')) headers.set('x-organization-id', organizationId)
    const token = impersonationToken()
    if (token) headers.set('authorization', `Bearer ${token}`)
    return transport(input, { ...init, headers })
  }
  try {
    const sentAt = Date.now()
    let answer = await request()
    if (answer.status === 401 && (await renewSession(sentAt))) answer = await request()
    // A renewed session may still have to confirm the identity.
    if (answer.status === 403 && (await confirmIdentityFor(answer))) answer = await request()
    return answer
  } catch {
    throw new Problem(0, {})
  }
}

/** Returns true if the server asked to confirm the identity, and the user did. */
async function confirmIdentityFor(refusal: Response): Promise<boolean> {
  const { code, detail } = (await refusal.clone().json()) as { code?: string; detail?: string }
  return code === 'forbidden.reauth' && confirmIdentity(detail ?? '')
}

/** Returns whether the reader can see the record in this team. */
export const existsInTeam = async (path: string, team: string): Promise<boolean> =>
  (await fetch(path, { headers: { 'x-organization-id': team } })).ok
