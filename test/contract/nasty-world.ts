import { documentedRoutes, isUpload, type RouteLike, responseSchemas, routeAction } from '../../src/http/openapi.ts'
import type { TSchema } from '../../src/schema.ts'
import { type Person, person, type TestApp, unique } from '../support/app.ts'
import { pictureForm, png, pngChunk } from '../support/pictures.ts'
import { differentWords, type Flavour, flavours, largestValue } from './nasty-values.ts'
import { bodyOf, buildWorld, fillPath, idFields, paramsOf, type World, workable } from './world.ts'

/** A tenant whose rows hold the largest and slowest content that the limits allow. */
export interface NastyWorld extends World {
  admin: Person
  /** Ids and slugs for `:param` at the end of a path: a row of each flavour, besides the one of `paths`. */
  rows: Map<string, string[]>
}

export interface Reply {
  status: number
  text: string
}

/** Runs a call of the fill; the test measures it there. */
export type Run = (name: string, call: () => Promise<Reply>) => Promise<Reply>

/** Room for the rest of the body and its escapes: a body has at most a mebibyte. */
const MOST = 400_000
/** Routes that end what the loop needs, or that need a secret or a provider. */
const left = /^(accounts|passkeys|devices|invites|tokens|integrations|oauth|codes|onboarding|repositories)\./
/** Fields that name another record, or must differ from those of others. */
const references = ['assignee', 'skills', 'key', 'projectId', 'task', 'agent', 'settings']

/** Calls without a socket, and leaves the body as it is: the client's work would count as the server's. */
export async function callHandler(
  t: TestApp,
  method: string,
  path: string,
  body: object | string | undefined,
  headers: Record<string, string>,
): Promise<Reply> {
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
  const response = await t.server.handle(
    new Request(t.url + path, {
      method,
      headers: { host: new URL(t.url).host, ...type, ...headers },
      body: typeof body === 'object' ? JSON.stringify(body) : body,
    }),
  )
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body ?? []) chunks.push(chunk)
  return {
    status: response.status,
    get text() {
      return Buffer.concat(chunks).toString()
    },
  }
}

/** The documented example with every text and list as large as allowed. */
export function nastyBody(route: RouteLike, from: World, flavour: Flavour): Record<string, unknown> {
  const body = bodyOf(route, from) as Record<string, unknown>
  const { id } = routeAction(route)
  const kept = new Set([...idFields(route.hooks.body), ...Object.keys(workable[id] ?? {}), ...references])
  for (const [name, schema] of Object.entries((route.hooks.body?.properties ?? {}) as Record<string, TSchema>)) {
    const value = kept.has(name) ? undefined : largestValue(schema, flavour, MOST)
    if (value !== undefined) body[name] = value
    if (name === 'scope' && (schema.enum as string[] | undefined)?.includes('public')) body[name] = 'public'
  }
  return { ...body, key: undefined }
}

const creates = ({ method, hooks }: RouteLike): boolean => method === 'POST' && '201' in responseSchemas(hooks.response)

/** Writes that a member makes with a body, creating ones first. */
const writers = (t: TestApp): RouteLike[] =>
  documentedRoutes(t.server.routes)
    .filter(({ method, hooks }) => method !== 'GET' && hooks.body && !isUpload(hooks))
    .filter((route) => routeAction(route).kind === 'write' && !left.test(routeAction(route).id))
    .filter((route) => !routeAction(route).rule.admin && !routeAction(route).rule.kinds.includes('anonymous'))
    .toSorted((a, b) => Number(creates(b)) - Number(creates(a)))

export const headersOf = (who: Person): Record<string, string> => ({
  authorization: `Bearer ${who.token}`,
  'x-organization-id': who.organizationId,
})

export async function nastyWorld(t: TestApp, run: Run): Promise<NastyWorld> {
  const known = await buildWorld(t)
  const all: NastyWorld = { ...known, admin: await person(t, { admin: true }), rows: new Map() }
  const params = new Set(t.server.routes.flatMap((route) => paramsOf(route.path)))
  for (const [n, route] of writers(t).entries())
    for (const flavour of flavoursFor(route, n)) {
      const body = JSON.stringify(nastyBody(route, known, flavour))
      const answer = await run(`${route.method} ${route.path} ${flavour.name}`, () =>
        callHandler(t, route.method, fillPath(route.path, known), body, headersOf(known.owner)),
      )
      if (answer.status !== 201 || !creates(route)) continue
      const { id, slug } = JSON.parse(answer.text) as { id: string; slug?: string }
      for (const param of params) {
        if (new RegExp(`^${route.path}/:\\w+$`).test(param)) add(all, param, id)
        if (param === `${route.path}/public/:slug` && slug) add(all, param, slug)
      }
    }
  // After the changes above, which took it back.
  await known.owner.fetch('POST', fillPath('/api/projects/:slug/share', known))
  await extremes(all)
  return all
}

/** Every flavour for a record with a long text, two for others, one for a change of a record. */
function flavoursFor(route: RouteLike, n: number): Flavour[] {
  const fields = Object.values((route.hooks.body?.properties ?? {}) as Record<string, TSchema>)
  if (creates(route) && fields.some(({ maxLength = 0 }) => maxLength >= 20_000)) return [...flavours]
  const some = Array.from({ length: creates(route) ? 2 : 1 }, (_, k) => flavours[(n + k * 3) % flavours.length])
  return some as Flavour[]
}

const add = ({ rows }: NastyWorld, param: string, value: string): void => {
  rows.set(param, [...(rows.get(param) ?? []), value])
}

const SPEC = 256 << 10
/** As many lines as a spec can have, and as many changed ones as are compared exactly. */
const specs = [
  ['a\n'.repeat(SPEC / 2), 'b\n'.repeat(SPEC / 2)],
  ['a\nb\nc\nd\n'.repeat(2400), 'd\nb\na\n'.repeat(3200)],
] as const

/** Contents that no example has: many of a kind, versions, only different words, a large picture. */
async function extremes(all: NastyWorld): Promise<void> {
  const { owner } = all
  const make = async (path: string, body: unknown): Promise<{ id: string; slug: string; version: number }> => {
    const answer = await owner.fetch<{ id: string; slug: string; version: number }>('POST', path, body)
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
    return answer.body
  }
  const words = { title: unique('Words'), content: differentWords(SPEC), scope: 'public' }
  add(all, '/api/notes/:id', (await make('/api/notes', words)).id)
  for (const [before, after] of specs) {
    const { id, version } = await make('/api/specs', {
      title: unique('Spec'),
      content: before,
      projectId: all.fields.projectId,
    })
    await owner.fetch('PATCH', `/api/specs/${id}`, { content: after, baseVersion: version })
    add(all, '/api/specs/:id', id)
  }
  const stories = Array.from({ length: 2 }, (_, s) => ({ title: `S${s}`, tasks: tasksOfStory(s) }))
  await make(`/api/projects/${all.fields.projectId}/plan`, { epics: [{ title: 'Large', stories }] })
  const cover = pictureForm(png([pngChunk('IDAT', Buffer.alloc((5 << 20) - 2000))]))
  const { body } = await owner.fetch<{ coverUrl: string }>('POST', '/api/settings/cover', cover)
  add(all, '/uploads/:id', body.coverUrl.replace('/uploads/', ''))
}

/** Skills with as many placeholders as fit, made after the search index, which would take long for them. */
export async function createPlaceholderSkills(t: TestApp, { owner }: NastyWorld): Promise<void> {
  for (let n = 0; n < 10; n++)
    await callHandler(
      t,
      'POST',
      '/api/skills',
      { name: unique('Skill'), content: '{{a}}'.repeat(52_000), scope: 'team' },
      headersOf(owner),
    )
}

/** Fifty tasks of which each waits for others: a plan may have 2,000 dependencies. */
const tasksOfStory = (story: number) =>
  Array.from({ length: 50 }, (_, n) => ({
    title: `${'a '.repeat(90)}${n}`,
    ref: `t${story}-${n}`,
    blockedBy: Array.from({ length: Math.min(n, 19) }, (_, m) => `t${story}-${m}`),
  }))
