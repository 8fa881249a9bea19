import { Kind, OptionalKind, type TSchema } from '@sinclair/typebox'
import type { AnyElysia } from 'elysia'
import type { Rule } from '../auth/policy.ts'
import { check } from '../check.ts'
import { codes } from '../errors.ts'
import { noExample } from '../schema.ts'
import { problemSchema } from './problem-schema.ts'

/** Generates OpenAPI 3.1 from the routes themselves: the documented schemas are the ones that validate. */
export interface RouteLike {
  method: string
  path: string
  hooks: { detail?: Record<string, unknown>; body?: TSchema; query?: TSchema; params?: TSchema; response?: unknown }
}

interface ActionLike {
  id: string
  kind: 'read' | 'write'
  rule: Rule
  hints: { versioned?: true; undoable?: true }
}

export const API_VERSION = '2026-11-01'

export function buildOpenapi(routes: readonly RouteLike[], version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of documentedRoutes(routes)) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = operation(route)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tutti',
      version: API_VERSION,
      description: `People and AI agents plan and do software work together. Server ${version}. The manual is at /api/docs.`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token from signing in, or an API key (svc_…)',
        },
      },
      schemas: { Problem: problemSchema },
    },
  }
}

export const routesOf = (router: AnyElysia): RouteLike[] => router.routes
export const documentedRoutes = (routes: readonly RouteLike[]): RouteLike[] =>
  routes.filter((r) => r.hooks.detail?.action)
export const isUpload = ({ detail }: RouteLike['hooks']): boolean => detail?.upload !== undefined
const bodyType = (hooks: RouteLike['hooks']): string => (isUpload(hooks) ? 'multipart/form-data' : 'application/json')
export const routeAction = (route: RouteLike): ActionLike => route.hooks.detail?.action as ActionLike

type Detail = {
  operationId: string
  summary: string
  tags: string[]
  action: ActionLike
  answers?: number[]
}

function operation({ hooks, path, method }: RouteLike): object {
  const detail = hooks.detail as Detail
  const { rule, kind, hints } = detail.action
  const open = rule.kinds.includes('anonymous')
  const parameters = [
    ...parametersOf('path', hooks.params),
    ...parametersOf('query', hooks.query),
    ...(open ? [] : [header('X-Organization-Id', 'The team to work in')]),
  ]
  const isRead = kind === 'read' && method === 'GET'
  if (isRead) parameters.push(header('If-None-Match', 'The ETag of an earlier response: 304 if it is still the same'))
  if (kind === 'write') parameters.push(header('Idempotency-Key', 'Makes the call safe to repeat for 24 hours'))
  if (hints.versioned)
    parameters.push(header('If-Match', 'The version your change is based on, in quotes, or the ETag'))
  if (hints.undoable)
    parameters.push(header('X-Change-Key', 'Calls with the same text are one change, which is undone as a whole'))
  const { body } = hooks
  return {
    operationId: detail.operationId,
    summary: detail.summary,
    tags: detail.tags,
    description: describeAccess(rule),
    ...(open ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body && { requestBody: { required: needsBody(body), content: { [bodyType(hooks)]: schemaContent(body) } } }),
    responses: {
      ...Object.fromEntries(Object.entries(responseSchemas(hooks.response)).map(successOf(hints))),
      ...(isRead && { 304: notModified }),
      ...(detail.answers?.includes(302) && { 302: redirect }),
      ...Object.fromEntries(
        errorsOf(detail, path, body !== undefined).map((status) => [status, problemAnswer(status)]),
      ),
    },
  }
}

/** A body of which every field is optional may be left out. */
const needsBody = (schema: TSchema): boolean => check(schema, {}).length > 0

const schemaContent = (schema: TSchema) => ({ schema: plainSchema(schema), example: exampleOf(schema) })

const changeId = {
  'X-Change-Id': {
    description: 'The change, for POST /api/changes/{id}/undo, if the call changed a task',
    schema: { type: 'string' },
  },
}

const successOf =
  ({ undoable }: ActionLike['hints']) =>
  ([status, schema]: [string, TSchema]) => [
    status,
    {
      description: status === '201' ? 'Created' : 'OK',
      ...(undoable && { headers: changeId }),
      content: { [(schema.contentMediaType as string) ?? 'application/json']: schemaContent(schema) },
    },
  ]

function errorsOf({ action: { rule, kind }, answers = [] }: Detail, path: string, hasBody: boolean): number[] {
  const open = rule.kinds.includes('anonymous')
  const errors = [400, 401, 403, 422, 429, 500, 503]
  // Also without a path parameter: X-Organization-Id may name a team that the caller is not in.
  if (!open || path.includes(':')) errors.push(404)
  if (kind === 'write') errors.push(409, 412, 413, 415, 507)
  else if (hasBody) errors.push(413, 415)
  // Links that work once or for a limited time, mostly for people who are not signed in.
  if (open || path.includes(':token')) errors.push(410)
  return [...errors, ...answers.filter((status) => status >= 400)]
}

/** Describes who may call an operation. */
export const describeAccess = (rule: Rule): string => {
  if (rule.kinds.includes('anonymous')) return 'No credential needed.'
  const who = rule.admin
    ? 'An administrator, signed in.'
    : rule.kinds.length === 1
      ? 'A person, signed in.'
      : 'An access token or an API key.'
  return [
    who,
    rule.scope && `Scope \`${rule.scope}\`.`,
    rule.role && `Role \`${rule.role}\` in the current team${rule.alone ? ', if there is one' : ''}.`,
  ]
    .filter(Boolean)
    .join(' ')
}

export function responseSchemas(response: unknown): Record<string, TSchema> {
  const schema = response as TSchema & Record<string, TSchema>
  return schema?.[Kind] ? { 200: schema } : (schema ?? {})
}

function parametersOf(where: 'path' | 'query', schema: TSchema | undefined): object[] {
  return Object.entries((schema?.properties ?? {}) as Record<string, TSchema>).map(([name, s]) => {
    const { description, ...rest } = plainSchema(s) as { description?: string }
    return {
      name,
      in: where,
      required: where === 'path' || !s[OptionalKind],
      ...(description ? { description } : {}),
      schema: rest,
      example: exampleOf(s),
    }
  })
}

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
})

const redirect = {
  description: 'Go to Location',
  headers: { Location: { required: true, schema: { type: 'string' } } },
  content: {},
}

const notModified = { description: 'Not modified: what If-None-Match names is still the same' }

const problemAnswer = (status: number) => ({
  description: Object.values(codes).find(([s]) => s === status)?.[1] ?? 'Problem',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
})

/** Drops TypeBox's symbols. */
const plainSchema = (schema: TSchema): object => JSON.parse(JSON.stringify(schema)) as object

/** Whether a text has no example. */
const saysNothing = (schema: TSchema): boolean => {
  if (Array.isArray(schema.anyOf)) return (schema.anyOf as TSchema[]).every((s) => s.type === 'null' || saysNothing(s))
  if (schema.type === 'array') return saysNothing(schema.items as TSchema)
  return schema.type === 'string' && exampleOf(schema) === 'text'
}

/** Returns `null` for a nullable text without an example, instead of a placeholder. */
const exampleOfOne = (options: readonly TSchema[]): unknown =>
  options.some((s) => s.type === 'null') && options.every((s) => s.type === 'null' || saysNothing(s))
    ? null
    : exampleOf(options[0] as TSchema)

/** Returns a value that fits the schema. Optional fields without an example are left out. */
export function exampleOf(schema: TSchema): unknown {
  if (Array.isArray(schema.examples)) return schema.examples[0]
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if (Array.isArray(schema.anyOf)) return exampleOfOne(schema.anyOf as TSchema[])
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries((schema.properties ?? {}) as Record<string, TSchema>)
          .filter(([, s]) => !(s[OptionalKind] && (saysNothing(s) || noExample in s)))
          .map(([name, s]) => [name, exampleOf(s)]),
      )
    case 'array':
      return [exampleOf(schema.items as TSchema)]
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return 'text'
  }
}
