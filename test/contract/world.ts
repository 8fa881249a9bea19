import { write } from '../../src/action.ts'
import { issueCode } from '../../src/auth/one-time-secrets.ts'
import { machine } from '../../src/auth/policy.ts'
import { newId } from '../../src/db/columns.ts'
import { aiMessages } from '../../src/features/assistant/table.ts'
import { communityPosts } from '../../src/features/community/table.ts'
import { contactMessages } from '../../src/features/contact/table.ts'
import { oauthClients } from '../../src/features/grants/table.ts'
import { mails } from '../../src/features/mail/table.ts'
import { notifications } from '../../src/features/notifications/table.ts'
import { connectedAccounts } from '../../src/features/oauth/table.ts'
import { endAction } from '../../src/features/tunnels/actions/dispatch.ts'
import { featureEvidence } from '../../src/features/workflow/table.ts'
import { exampleOf, isUpload, type RouteLike, routeAction } from '../../src/http/openapi.ts'
import { kindInfo, type RecordName, recordNames } from '../../src/records/names.ts'
import type { TSchema } from '../../src/schema.ts'
import { CALLBACK, Program } from '../features/grants-support.ts'
import {
  type Answer,
  call,
  member,
  PASSWORD,
  type Person,
  person,
  systemCtx,
  type TestApp,
  unique,
} from '../support/app.ts'
import { newPasskey } from '../support/authenticator.ts'
import { keptMail, linkSecretIn } from '../support/mail.ts'
import { pictureForm } from '../support/pictures.ts'
import { Browser } from '../support/push-service.ts'
import { type MadeRecord, oneOfEach, type Words } from '../support/records.ts'

/**
 * One tenant: a team with one row of every resource, none of it public. The loops of routes.test.ts and tools.test.ts
 * send these ids as the wrong person. Kinds of records come from test/support/records.ts, other plain resources from
 * their documented example (`makePlainRows`). Only a resource with rules of its own needs a line here.
 */
export interface World {
  owner: Person
  viewer: Person
  /** A machine with a tunnel, which has a credential of its own. */
  machine: Person
  /** For `:param` at the end of the path, whatever follows. */
  paths: Record<string, string>
  /** Other rows for the same places, which other conditions keep apart: a note outside projects, a project of one person. */
  also: Record<string, string>
  /** For fields of bodies, queries and tools that hold an id. */
  fields: Record<string, string>
  /** By action: parts of a body with nested ids. */
  bodies: Record<string, object>
}

/** `words` chooses the titles and texts of the record of each kind. */
export async function buildWorld(t: TestApp, words?: Words): Promise<World> {
  const self = await person(t)
  const team = createdRow(await self.fetch('POST', '/api/teams', { name: unique('Analytical Engines') }))
  const owner = inTeam(self, team.id)
  const colleague = await member(t, owner, 'member')
  const viewer = await member(t, owner, 'viewer')
  const one = await oneOfEach(owner, { ...(words && { words }), more: { project: { settings } } })
  const { project, epic, story } = one
  const loose = createdRow(await owner.fetch('POST', '/api/notes', { title: unique('Loose'), scope: 'team' }))
  const secret = createdRow(
    await owner.fetch('POST', '/api/projects', { name: unique('Secret'), visibility: 'private' }),
  )
  const tasks = `/api/projects/${project.id}/epics/${epic.id}/stories/${story.id}/tasks`
  const nestedTask = createdRow(await owner.fetch('POST', tasks, { title: unique('Lock the data folder') }))
  const nextEpic = createdRow(
    await owner.fetch('POST', `/api/projects/${project.id}/epics`, { title: unique('Papers') }),
  )
  const nextStory = createdRow(
    await owner.fetch('POST', `/api/projects/${project.id}/epics/${epic.id}/stories`, { title: unique('Papers') }),
  )
  const whole = createdRow(await owner.fetch('POST', `/api/projects/${project.id}/tasks`, { title: unique('Whole') }))
  const changed = await owner.fetch('PATCH', `/api/tasks/${whole.id}`, { priority: 'low' })
  const secretTask = createdRow(
    await owner.fetch('POST', `/api/projects/${secret.id}/tasks`, { title: unique('Secret') }),
  )
  const secretFeature = createdRow(
    await owner.fetch('POST', `/api/projects/${secret.id}/features`, { title: unique('Secret') }),
  )
  const secretRepository = createdRow(
    await owner.fetch('POST', '/api/repos', { repo: 'tutti/tutti', projectId: secret.id }),
  )
  const key = createdRow(await owner.fetch('POST', '/api/settings/api-keys', { name: 'laptop' }))
  const token = createdRow(await owner.fetch('POST', '/api/mcp-tokens', { name: 'agent', organizationId: team.id }))
  const { tunnelId, machine } = await machineOf(t, owner)
  const [mail] = await t.app.db.select({ id: mails.id }).from(mails).limit(1)
  const personalSkill = createdRow(await owner.fetch('POST', '/api/skills', { name: unique('Personal') }))
  const personalAgent = createdRow(await owner.fetch('POST', '/api/agents', { name: unique('Personal') }))
  const link = createdRow(
    await owner.fetch('POST', '/api/links', {
      fromType: 'project',
      fromId: project.id,
      toType: 'note',
      toId: loose.id,
    }),
  )
  const activity = createdRow(
    await owner.fetch('POST', '/api/activities', { type: 'deploy', description: 'Done', projectId: project.id }),
  )
  const friends = createdRow(await self.fetch('POST', '/api/teams', { name: unique('Friends') }))
  const workspace = createdRow(await owner.fetch('POST', '/api/workspaces', { name: unique('Engines') }))
  await owner.fetch('POST', `/api/workspaces/${workspace.id}/teams`, { teamId: friends.id, role: 'editor' })
  const invite = createdRow(
    await owner.fetch('POST', `/api/teams/${team.id}/invite`, { email: `${unique('guest')}@example.com` }),
  )
  const device = (await call<{ userCode: string }>(t, 'POST', '/api/auth/device/request', {})).body
  await owner.fetch('GET', `/api/auth/device/${device.userCode}`)
  // Switched off: its messages would come in between while tables are compared.
  await owner.fetch('PUT', '/api/settings/integrations/user/webhook', {
    secret: 'https://hooks.example.com/tutti',
    settings: { enabled: false },
  })
  const { avatarUrl } = (await owner.fetch<{ avatarUrl: string }>('POST', '/api/settings/avatar', pictureForm())).body
  const attached = createdRow(
    await owner.fetch('POST', `/api/uploads?kind=note&recordId=${loose.id}&name=cover.png`, pictureForm()),
  )
  await call(t, 'POST', '/api/auth/login', { email: self.email, password: PASSWORD })
  const sessions = (await owner.fetch<{ items: { id: string; current: boolean }[] }>('GET', '/api/settings/sessions'))
    .body.items
  // A separate team, because a deleted team is gone for its owner too.
  const managed = createdRow(await self.fetch('POST', '/api/teams', { name: unique('Managed') }))
  const managedMember = await member(t, inTeam(self, managed.id), 'member')
  const issue = createdRow(await owner.fetch('POST', '/api/issues', { title: unique('Broken'), description: 'It is.' }))
  const push = new Browser().subscription('https://push.example.com')
  const isPushOn = t.app.config.PUSH === 'on'
  const subscription = isPushOn
    ? createdRow(await owner.fetch('POST', '/api/push/subscriptions', push))
    : { id: newId() }
  const passkey = createdRow(
    await owner.fetch('POST', '/api/auth/passkey/register/finish', await newPasskey(t.app.url, owner)),
  )
  const notification = newId()
  await give(systemCtx(t), { id: notification, userId: owner.userId, code: colleague.email })
  const evidence = newId()
  await t.app.db.insert(featureEvidence).values({
    id: evidence,
    featureId: one.feature.id,
    gate: 'code_complete',
    level: 'reported',
    evidence: { summary: 'The folder is locked' },
    actorType: 'user',
    actorId: owner.userId,
    actorName: 'Ada Lovelace',
    createdAt: new Date().toISOString(),
  })
  const { handle } = (await owner.fetch<{ handle: string }>('GET', '/api/auth/me')).body
  const copy = await conflicting(owner, loose.id)
  const site = await siteRows(t)
  const program = await programOf(t, owner)
  const aiSession = createdRow(await owner.fetch('POST', '/api/ai/sessions', { repositoryId: one.repository.id }))
  const proposed = await proposal(t, aiSession.id)
  const known: World = {
    owner,
    viewer,
    machine,
    paths: {
      ...pathsOf(one),
      '/api/teams/:id': team.id,
      '/api/changes/:id': changed.headers.get('x-change-id') as string,
      '/api/teams/:id/members/:userId': colleague.userId,
      '/api/teams/:id/invites/:inviteId': invite.id,
      '/api/invites/:token': await invitation(t, self),
      '/api/workspace-invites/:id': await workspaceInvitation(t, self),
      '/api/workspaces/:id': workspace.id,
      '/api/workspaces/:id/teams/:teamId': friends.id,
      '/api/admin/teams/:id': managed.id,
      '/api/admin/teams/:id/members/:user_id': managedMember.userId,
      '/api/admin/users/:id': colleague.userId,
      '/api/admin/issues/:id': issue.id,
      ...site.paths,
      '/api/notifications/:id': notification,
      '/api/features/:id/evidence/:evidenceId': evidence,
      '/api/tasks/:id/evidence/:evidenceId': await evidenceOf(owner, one.task.id),
      '/api/projects/:slug': project.id,
      '/api/public/projects/:user': handle,
      '/api/public/projects/:user/:slug': project.slug,
      '/api/public/docs/:team': team.slug,
      '/api/public/docs/:team/:project': project.slug,
      '/api/public/docs/:team/:project/:slug': one.note.slug,
      '/api/notes/public/:slug': one.note.slug,
      '/api/projects/:slug/epics/:epicId': epic.id,
      '/api/projects/:slug/epics/:epicId/stories/:storyId': story.id,
      '/api/projects/:slug/epics/:epicId/stories/:storyId/tasks/:taskId': nestedTask.id,
      '/api/ai/sessions/:id': aiSession.id,
      '/api/ai/sessions/:id/messages/:messageId': proposed,
      '/api/ai/sessions/:id/messages/:messageId/proposals/:n': '1',
      '/api/sync/devices/:id': copy.deviceId,
      '/api/sync/conflicts/:id': copy.conflict,
      '/api/links/:id': link.id,
      '/api/activities/:id': activity.id,
      '/api/skills/public/:slug': one.skill.slug,
      '/api/agents/public/:slug': one.agent.slug,
      '/api/settings/api-keys/:id': key.id,
      '/api/settings/passkeys/:id': passkey.id,
      '/api/push/subscriptions/:id': subscription.id,
      '/api/settings/connected-accounts/:provider': 'github',
      '/api/auth/oauth/:provider': 'oidc',
      '/api/settings/sessions/:id': sessions.find((session) => !session.current)?.id as string,
      '/api/mcp-tokens/:id': token.id,
      '/api/tunnels/:id': tunnelId,
      '/api/settings/grants/:id': program.grant,
      '/api/admin/outbox/:id': mail?.id as string,
      '/api/auth/device/:userCode': device.userCode,
      '/api/docs/:id': 'start',
      '/api/settings/integrations/user/:provider': 'webhook',
      '/uploads/:id': avatarUrl.replace('/uploads/', ''),
      '/api/uploads/:id': attached.id,
    },
    also: {
      '/api/projects/:slug': secret.id,
      '/api/public/projects/:user/:slug': secret.slug,
      '/api/public/docs/:team/:project': secret.slug,
      '/api/notes/:id': loose.id,
      '/api/notes/public/:slug': loose.slug,
      '/api/features/:id': secretFeature.id,
      '/api/repos/:id': secretRepository.id,
      '/api/tasks/:id': secretTask.id,
      '/api/skills/:id': personalSkill.id,
      '/api/skills/public/:slug': personalSkill.slug,
      '/api/agents/:id': personalAgent.id,
      '/api/agents/public/:slug': personalAgent.slug,
    },
    fields: {
      ...fieldsOf(one),
      ...site.fields,
      deviceId: copy.deviceId,
      'assistant.chat.sessionId': aiSession.id,
      recordId: loose.id,
      organizationId: team.id,
      currentOrganizationId: team.id,
      note: loose.id,
      repo: one.repository.id,
      scopeId: project.id,
      defaultProject: project.id,
      'stories.updateEpic.after': nextEpic.id,
      'stories.updateStory.after': nextStory.id,
      parentId: whole.id,
      // The other one is completed before.
      'tasks.claim.task': whole.id,
      'tasks.claim.sessionId': one.session.id,
      'tasks.next.sessionId': one.session.id,
      userId: colleague.userId,
      teamId: friends.id,
      tunnelId,
      workspaceId: workspace.id,
      actorId: colleague.userId,
      subjectId: loose.id,
      'memory.store.supersedes': one.memory.id,
      'memory.store.scopeId': project.id,
      'memory.storeMany.supersedes': one.memory.id,
      'memory.storeMany.scopeId': project.id,
      // Needed where several are not given.
      'memory.storeMany.content': unique('Backups run first'),
      'tasks.createMany.title': unique('Lock the data folder'),
      'decisions.create.supersedes': one.decision.id,
      'decisions.log.title': 'Lock the folder with flock',
      'decisions.log.supersedes': one.decision.id,
      'activity.log.sessionId': one.session.id,
      activity: activity.id,
      id: project.id,
      'links.create.fromId': project.id,
      'links.create.toId': secret.id,
      'links.remove.id': link.id,
    },
    bodies: {
      'workspaces.invite': { email: `${unique('guest')}@example.com` },
      'tasks.completeMany': { tasks: [one.task.id] },
      'grants.look': { request: program.request },
      'grants.decide': { request: program.request },
    },
  }
  await makePlainRows(t, known)
  // It would end by itself after a minute, maybe while tables are compared.
  await endAction(systemCtx(t), { id: known.paths['/api/tunnels/:id/actions/:actionId'] as string, state: 'cancelled' })
  return known
}

/** Texts of the public site, which only administrators create: all parts, none published. */
async function siteRows(t: TestApp): Promise<Pick<World, 'paths' | 'fields'>> {
  const admin = await person(t, { admin: true })
  for (const key of ['blog', 'marketplace', 'contact', 'community'])
    await admin.fetch('PATCH', `/api/admin/settings/${key}`, { enabled: true })
  const rows: Record<string, string> = {
    '/api/admin/settings/:key': 'general',
    '/api/public/settings/:key': 'tracker',
    '/api/admin/contact/:id': await contactMessage(t),
    '/api/admin/marketplace/:kind': 'skill',
    '/api/admin/marketplace/:kind/:id': crypto.randomUUID(),
    '/api/public/marketplace/:kind': 'skill',
    '/api/public/marketplace/:kind/:id': crypto.randomUUID(),
    ...(await communityPost(t, admin)),
  }
  for (const [noun, body] of [
    ['pages', { title: unique('Imprint') }],
    ['posts', { title: unique('News') }],
    ['categories', { name: unique('Operations') }],
    ['sponsors', { name: unique('Engines') }],
    ['oauth-clients', { name: unique('Robot'), redirectUris: ['https://robot.example/cb'] }],
  ] as const) {
    const { id, slug } = createdRow(await admin.fetch('POST', `/api/admin/${noun}`, body))
    rows[`/api/admin/${noun}/:id`] = id
    if (slug && noun !== 'categories') rows[`/api/public/${noun}/:slug`] = slug
  }
  const picture = createdRow(await admin.fetch('POST', '/api/admin/uploads', pictureForm())).id
  const categoryId = rows['/api/admin/categories/:id'] as string
  return { paths: rows, fields: { coverId: picture, logoId: picture, categoryId } }
}

/** Evidence for a task. */
async function evidenceOf(who: Person, task: string): Promise<string> {
  await who.fetch('PATCH', `/api/tasks/${task}`, { evidence: ['Seen'] })
  const { body } = await who.fetch<{ evidence: { id: string }[] }>('GET', `/api/tasks/${task}`)
  return body.evidence[0]?.id as string
}

/** A program that requests access, and one that has it. */
async function programOf(t: TestApp, who: Person): Promise<{ grant: string; request: string }> {
  const program = new Program(t, newId())
  await t.app.db.insert(oauthClients).values({
    id: program.clientId,
    kind: 'added',
    name: 'Robot',
    redirectUris: [CALLBACK],
    createdAt: new Date().toISOString(),
  })
  await program.tokens(who)
  const { items } = (await who.fetch<{ items: { id: string }[] }>('GET', '/api/settings/grants')).body
  return { grant: items[0]?.id as string, request: program.query() }
}

/** Hidden, as a post is before an administrator has looked at it. */
export async function communityPost({ app }: TestApp, author: Person): Promise<Record<string, string>> {
  const at = new Date().toISOString()
  const [made] = await app.db
    .insert(communityPosts)
    .values({
      authorId: author.userId,
      title: unique('Hello'),
      content: 'All',
      status: 'hidden',
      createdAt: at,
      updatedAt: at,
    })
    .returning({ id: communityPosts.id })
  const id = made?.id as string
  return {
    '/api/community/posts/:id': id,
    '/api/admin/community/posts/:id': id,
    '/api/public/community/posts/:id': id,
  }
}

async function contactMessage({ app }: TestApp): Promise<string> {
  const at = new Date().toISOString()
  const row = { email: 'ada@example.com', message: unique('How do I sign in?'), spam: false, textHash: unique('x') }
  const [made] = await app.db
    .insert(contactMessages)
    .values({ ...row, createdAt: at, updatedAt: at })
    .returning({ id: contactMessages.id })
  return made?.id as string
}

/** A tunnel, and the machine that claimed it. */
async function machineOf(t: TestApp, owner: Person): Promise<{ tunnelId: string; machine: Person }> {
  const registered = await owner.fetch<{ nonce: string }>('POST', '/api/tunnels/register', { name: unique('Box') })
  const about = { hostname: 'box', os: 'linux', architecture: 'x64', clientVersion: '1.0.0' }
  const claimed = await call<{ tunnelId: string; token: string }>(t, 'POST', '/api/tunnels/claim', {
    nonce: registered.body.nonce,
    ...about,
  })
  const { tunnelId, token } = claimed.body
  const fetch: Person['fetch'] = (method, path, body, headers = {}) =>
    call(t, method, path, body, { authorization: `Bearer ${token}`, ...headers })
  return { tunnelId, machine: { ...owner, token, fetch } }
}

/** A device, and a change from it that conflicts. */
async function conflicting(owner: Person, note: string): Promise<{ deviceId: string; conflict: string }> {
  const about = { name: 'laptop', platform: 'linux x64', schema: '2026-11-16' }
  const { deviceId } = (await owner.fetch<{ deviceId: string }>('POST', '/api/sync/devices/register', about)).body
  const seen = { title: 'Never its title' }
  const change = { mutationId: newId(), entity: 'note', id: note, op: 'upsert', fields: { title: 'New' }, base: seen }
  const pushed = await owner.fetch<{ receipts: { conflicts?: string[] }[] }>('POST', '/api/sync/push', {
    deviceId,
    mutations: [change],
  })
  return { deviceId, conflict: pushed.body.receipts[0]?.conflicts?.[0] as string }
}

/** An answer of the assistant that proposes a note. */
async function proposal(t: TestApp, sessionId: string): Promise<string> {
  const draft = { title: 'Locks', content: 'One process at a time.' }
  const id = newId()
  await t.app.db.insert(aiMessages).values({
    id,
    sessionId,
    createdAt: new Date().toISOString(),
    role: 'assistant',
    content: 'I propose a note.',
    status: 'complete',
    sources: [],
    citations: [],
    proposals: [{ number: 1, kind: 'note', state: 'open', draft, sources: [], made: [] }],
  })
  return id
}

type OneOfEach = Record<RecordName, MadeRecord>
/** Returns the record of each kind that is read at a path of its own: `/api/notes/:id`. */
export const pathsOf = (one: OneOfEach): Record<string, string> =>
  Object.fromEntries(
    recordNames.flatMap((kind) => {
      const { path } = kindInfo(kind)
      return path ? [[`/api${path}/:id`, one[kind].id]] : []
    }),
  )
/** Returns the record of each kind for the fields that are named after it: `note` and `noteId`. */
export const fieldsOf = (one: OneOfEach): Record<string, string> =>
  Object.fromEntries(
    recordNames.flatMap((kind) => [
      [kind, one[kind].id],
      [`${kind}Id`, one[kind].id],
    ]),
  )

/** The secret of an invitation by a team without other members. */
export async function invitation(t: TestApp, to: Person): Promise<string> {
  const host = await person(t)
  await host.fetch('POST', `/api/teams/${host.organizationId}/invite`, { email: to.email })
  return linkSecretIn(await keptMail(t, to.email, `invite:${host.organizationId}`))
}

/** The id of an invitation to a workspace, by a team without other members. */
export async function workspaceInvitation(t: TestApp, to: Person): Promise<string> {
  await t.app.driver.query('update users set email_verified_at = now() where id = $1', [to.userId])
  const host = await person(t)
  const { id } = createdRow(await host.fetch('POST', '/api/workspaces', { name: unique('Engines') }))
  const body = { email: to.email, role: 'editor' }
  return createdRow(await host.fetch('POST', `/api/workspaces/${id}/invites`, body)).id
}

/** Rows that the web API cannot create: a notification, an external identity, and a code for administrators. */
const give = write(
  'test.give',
  machine,
  async (ctx, { id, userId, code }: { id: string; userId: string; code: string }): Promise<void> => {
    await ctx.db
      .insert(notifications)
      .values({ id, userId, type: 'info', reason: 'test', title: 'News', createdAt: ctx.now, updatedAt: ctx.now })
    await ctx.db
      .insert(connectedAccounts)
      .values({ userId, provider: 'github', subject: id, createdAt: ctx.now, updatedAt: ctx.now })
    await issueCode(ctx, code, null)
  },
)

/** A resource that is made by POST to its collection needs no line above: its documented example becomes the row. */
async function makePlainRows(t: TestApp, known: World): Promise<void> {
  const params = new Set(t.server.routes.flatMap((route) => paramsOf(route.path)))
  for (const param of [...params].filter((p) => !(p in known.paths)).sort((a, b) => a.length - b.length)) {
    const collection = param.replace(/\/:\w+$/, '')
    const maker = t.server.routes.find(
      (route) => route.method === 'POST' && route.path === collection && route.hooks.body,
    )
    if (maker)
      known.paths[param] = createdRow(
        await known.owner.fetch('POST', fillPath(collection, known), bodyOf(maker, known)),
      ).id
  }
}

const createdRow = ({ status, body }: Answer): { id: string; slug: string } => {
  if (status !== 201) throw new Error(`test/contract/world.ts could not make a row: ${JSON.stringify(body)}`)
  return body as { id: string; slug: string }
}

export const inTeam = (who: Person, organizationId: string): Person => ({
  ...who,
  organizationId,
  fetch: (method, path, body, headers = {}) =>
    who.fetch(method, path, body, { 'x-organization-id': organizationId, ...headers }),
})

const params = /\/:\w+/g
export const paramsOf = (path: string): string[] =>
  [...path.matchAll(params)].map((found) => path.slice(0, found.index + found[0].length))

/** The path with ids in place of its parameters. `from` picks the tenant for each of them. */
export function fillPath(path: string, from: World | ((param: string) => World)): string {
  let filled = ''
  let done = 0
  for (const param of paramsOf(path)) {
    const { paths } = typeof from === 'function' ? from(param) : from
    const value = paths[param]
    if (value === undefined)
      throw new Error(
        `Nothing to put for ${param} of ${path}. Make such a row in test/contract/world.ts and add it to \`paths\`.`,
      )
    filled += param.slice(done).replace(/:\w+$/, encodeURIComponent(value))
    done = param.length
  }
  return filled + path.slice(done)
}

export const idFields = (schema: TSchema | undefined): string[] =>
  Object.entries((schema?.properties ?? {}) as Record<string, TSchema>)
    .filter(([name, field]) =>
      ((field.anyOf as TSchema[] | undefined) ?? [field]).some(
        // A reference that also takes slugs and keys is plain text.
        (option) =>
          option.format === 'uuid' ||
          (name.endsWith('Id') && option.type === 'string' && !/^svc_/.test(String(option.examples?.[0]))),
      ),
    )
    .map(([name]) => name)

/** The id for a field: of the action's own kind where the name alone does not tell. */
export const fieldOf = ({ fields }: World, action: string, name: string): string | undefined =>
  fields[`${action}.${name}`] ?? fields[name]

/** The documented example with ids that exist, or a form with a picture; undefined for a route without a body. */
export function bodyOf(route: RouteLike, from: World): Record<string, unknown> | undefined {
  if (!route.hooks.body) return undefined
  if (isUpload(route.hooks)) return pictureForm() as unknown as Record<string, unknown>
  const body: Record<string, unknown> = {
    ...(exampleOf(route.hooks.body) as object),
    ...workable[routeAction(route).id],
  }
  Object.assign(body, from.bodies[routeAction(route).id])
  for (const name of idFields(route.hooks.body)) {
    const value = fieldOf(from, routeAction(route).id, name)
    if (name in (workable[routeAction(route).id] ?? {})) continue
    if (value === undefined)
      throw new Error(
        `Nothing to put for the field ${name} of ${route.method} ${route.path}. Add it to \`fields\` in test/contract/world.ts.`,
      )
    body[name] = value
  }
  return body
}

/** A feature can be advanced and then reviewed by anyone. */
const settings = {
  allowSelfReview: true,
  workflow: {
    initial: 'open',
    states: ['open', 'checked', 'closed'],
    transitions: [
      { from: 'open', to: 'checked' },
      { from: 'checked', to: 'closed', by: 'approved' },
    ],
  },
}

const movesNowhere = { status: undefined, evidence: undefined, level: undefined }

/** By action: what has to differ from the example for the call to succeed, where its parts must fit each other. */
export const workable: Record<string, object> = {
  'assistant.decide': { accept: true, edit: { title: 'Locks', content: 'One process at a time.' } },
  'integrations.put': { settings: { enabled: false } },
  'links.create': { fromType: 'project', toType: 'project' },
  'tokens.createKey': { projects: null },
  'tokens.createToken': { projects: null },
  'grants.decide': { projects: null },
  'notes.update': { scope: 'team' },
  'workflow.create': { taskIds: [], blockedBy: [] },
  'workflow.update': { taskIds: [], blockedBy: [], ...movesNowhere },
  'workflow.updateIn': { taskIds: [], blockedBy: [], ...movesNowhere },
  'workflow.advance': movesNowhere,
  'workflow.override': { status: 'checked' },
  // Used by others in the same loop.
  ...Object.fromEntries(
    ['Page', 'Post', 'Category'].flatMap((kind) => [
      [`site.create${kind}`, { slug: undefined }],
      [`site.update${kind}`, { slug: undefined }],
    ]),
  ),
  // It is refused, with an error of its own.
  'projects.share': { organizationId: undefined },
  'skills.update': { scope: 'team' },
  'agents.create': { skills: [] },
  'agents.update': { scope: 'team', skills: [] },
  'memory.store': { scope: 'project', supersedes: undefined, embedding: undefined },
  'memory.storeMany': { memories: [{ content: 'Backups run first.' }], scope: 'project' },
  'memory.search': { scope: 'project' },
  'memory.clear': { scope: 'project' },
  'memory.update': { supersedes: undefined, embedding: undefined },
  'decisions.create': { supersedes: undefined },
  'decisions.update': { supersedes: undefined },
  'tasks.create': { blockedBy: [], assignee: 'me' },
  'tasks.createMany': { parent: undefined, tasks: [{ title: 'Lock the data folder' }] },
  'tasks.update': { blockedBy: [], addBlockedBy: [], removeBlockedBy: [], assignee: 'me', after: undefined },
  // Used by others in the same loop.
  'tunnels.register': { slug: undefined },
  'tunnels.update': { slug: undefined },
  'tasks.claim': { agent: undefined },
  'tasks.next': { agent: undefined },
  'planning.createTask': { blockedBy: [] },
  'planning.updateTask': { blockedBy: [], addBlockedBy: [], removeBlockedBy: [], after: null },
  'planning.createPlan': {
    epics: [{ title: 'Durability', stories: [{ title: 'One process', tasks: [{ title: 'Lock the data folder' }] }] }],
  },
}
