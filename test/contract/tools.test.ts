import { beforeAll, describe, expect, test } from 'bun:test'
import { contextOf } from '../../src/action.ts'
import { tools } from '../../src/all-features.ts'
import { check } from '../../src/check.ts'
import { AppError } from '../../src/errors.ts'
import { exampleOf } from '../../src/http/openapi.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { includesTool, toolsetNames } from '../../src/mcp/toolsets.ts'
import type { TSchema } from '../../src/schema.ts'
import { mcpToken, type Person, sharedApp } from '../support/app.ts'
import { argumentsOf, properties, references } from './arguments.ts'
import { fingerprint } from './tables.ts'
import { buildWorld, type World } from './world.ts'

/** Loops over every tool, as data and as calls of its action. test/mcp tests the transport. */
const named = tools.map((tool): [string, Tool] => [tool.name, tool])
const types = new Set(['string', 'number', 'boolean', 'array', 'object'])

function untypedPaths(schema: TSchema, at: string): string[] {
  const options = schema.anyOf as TSchema[] | undefined
  if (options) return options.filter((o) => o.type !== 'null').flatMap((o, i) => untypedPaths(o, `${at}|${i}`))
  if (!types.has(schema.type)) return [at]
  if (schema.type === 'array') return untypedPaths(schema.items as TSchema, `${at}[]`)
  if (schema.type !== 'object') return []
  const inner = Object.entries((schema.properties ?? {}) as Record<string, TSchema>)
  const strict = schema.additionalProperties === false || schema.patternProperties
  return [
    ...(strict ? [] : [`${at} takes anything`]),
    ...inner.flatMap(([name, s]) => untypedPaths(s, `${at}.${name}`)),
  ]
}

describe('the list of tools', () => {
  test('contains tools with unique names', () => {
    expect(tools.length).toBeGreaterThan(9)
    expect(new Set(tools.map((tool) => tool.name)).size).toBe(tools.length)
    expect(new Set(tools.map((tool) => tool.title)).size).toBe(tools.length)
  })

  test.each(named)('gives %s a name, a description and a toolset', (_name, { name, title, description, toolset }) => {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/)
    expect(name.length).toBeLessThanOrEqual(64)
    expect(title).toMatch(/^[A-Z][A-Za-z -]{2,60}$/)
    expect(description).toMatch(/^[A-Z].*\.$/s)
    expect(description.length).toBeLessThanOrEqual(1000)
    expect(toolset).toMatch(/^[a-z_]+$/)
  })

  test.each(named)('gives %s a strict, flat object of typed arguments', (_name, tool) => {
    const { type, additionalProperties, ...rest } = tool.input
    expect(type).toBe('object')
    expect(additionalProperties).toBe(false)
    // Model APIs refuse these at the top.
    for (const keyword of ['anyOf', 'oneOf', 'allOf', 'not', '$ref', 'enum', 'if'])
      expect(rest).not.toHaveProperty(keyword)
    expect(properties(tool).flatMap(([name, schema]) => untypedPaths(schema, name))).toEqual([])
    for (const [name, schema] of properties(tool)) {
      expect(name).toMatch(/^[a-z][A-Za-z]*$/)
      if (schema.type === 'string')
        expect([
          name,
          schema.maxLength !== undefined || schema.enum !== undefined || schema.format !== undefined,
        ]).toEqual([name, true])
      if (schema.type === 'array') expect([name, typeof schema.maxItems]).toEqual([name, 'number'])
    }
    expect(check(tool.input, exampleOf(tool.input))).toEqual([])
    expect(check(tool.input, { ...(exampleOf(tool.input) as object), surprise: 1 })).toMatchObject([
      { pointer: '/surprise', code: 'unknown_field' },
    ])
  })

  test.each(named)(
    'annotates %s as read-only or writing, and gives writes an idempotency key',
    (_name, { action, writing, input, name }) => {
      expect(['read', 'write']).toContain(action.kind)
      expect('idempotencyKey' in input.properties).toBe((writing?.action ?? action).kind === 'write')
      expect((input.required as string[] | undefined) ?? []).not.toContain('idempotencyKey')
      if (/^(list|search)_/.test(name)) expect(action.kind).toBe('read')
      if (/^(create|update|delete|archive|store|log|clear)_/.test(name)) expect(action.kind).toBe('write')
      expect(action.hints.destructive === true).toBe(/^(delete|clear)_/.test(name))
      expect(action.rule.kinds).toContain('mcp_token')
      expect(action.rule.scope).toEndWith(action.kind === 'read' ? ':read' : ':write')
      expect(action.rule.role).not.toBeNull()
      if (!writing) return
      expect([action.kind, writing.action.kind]).toEqual(['read', 'write'])
      expect(writing.action.rule).toEqual({
        ...action.rule,
        scope: action.rule.scope?.replace(':read', ':write') ?? null,
        role: 'member',
      })
      for (const field of writing.fields) expect((input.required as string[] | undefined) ?? []).not.toContain(field)
    },
  )

  test('matches the snapshot', () => {
    const list = tools.map(
      ({ name, title, description, toolset, input, action: { id, kind, rule, hints }, writing }) => ({
        name,
        title,
        description,
        toolsets: [toolset, ...toolsetNames.slice(0, 2).filter((one) => includesTool([one], { name, toolset }))].join(),
        runs: `${id} (${kind}${Object.keys(hints)
          .map((hint) => `, ${hint}`)
          .join('')}), ${rule.scope}, ${rule.role}`,
        ...(writing && {
          writes: `${writing.action.id} with ${writing.fields.join(' or ')}, ${writing.action.rule.scope}`,
        }),
        input: JSON.parse(JSON.stringify(input)) as object,
      }),
    )
    expect(list).toMatchSnapshot()
  })
})

describe('access to tools', () => {
  let a: World
  let b: World
  beforeAll(async () => {
    const t = await sharedApp()
    a = await buildWorld(t)
    b = await buildWorld(t)
  })

  async function outcome(tool: Tool, token: string, input: Record<string, unknown>): Promise<string> {
    const { app } = await sharedApp()
    const { expectedVersion } = input as { expectedVersion?: number }
    const ctx = contextOf(app, await app.auth.authenticate(token), { expectedVersion })
    try {
      await tool.run(ctx, input as never)
      return `${tool.name}: done`
    } catch (error) {
      return `${tool.name}: ${error instanceof AppError ? error.code : error}`
    }
  }

  async function refused(who: Person, scopes: string[], list: Tool[], from: World, code: string): Promise<void> {
    const t = await sharedApp()
    const token = await mcpToken(t, who, { scopes })
    const before = await fingerprint(t.app.driver)
    for (const tool of list) expect(await outcome(tool, token, argumentsOf(tool, from))).toBe(`${tool.name}: ${code}`)
    expect(await fingerprint(t.app.driver)).toEqual(before)
  }

  const referring = tools.filter((tool) => references(tool).length > 0)
  const writing = tools.filter((tool) => tool.action.kind === 'write')

  test('a record of another team is not found, and not changed', async () => {
    expect(referring.length).toBeGreaterThan(5)
    await refused(b.owner, ['write'], referring, a, 'not_found')
  })

  test('a viewer cannot use tools that write', async () => {
    expect(writing.length).toBeGreaterThan(4)
    await refused(a.viewer, ['write'], writing, a, 'forbidden')
  })

  test('a read-only token cannot use tools that write', () => refused(a.owner, ['read'], writing, a, 'forbidden'))

  test('a read-only token cannot write through an argument of a tool that reads', async () => {
    const t = await sharedApp()
    const [reader, viewer] = [
      await mcpToken(t, a.owner, { scopes: ['read'] }),
      await mcpToken(t, a.viewer, { scopes: ['write'] }),
    ]
    const both = tools.filter(({ writing }) => writing)
    expect(both.length).toBeGreaterThan(1)
    const before = await fingerprint(t.app.driver)
    for (const tool of both) {
      const least = argumentsOf(tool, a)
      const fields = tool.input.properties as Record<string, TSchema>
      for (const token of [reader, viewer]) {
        expect(await outcome(tool, token, least)).toBe(`${tool.name}: done`)
        for (const field of tool.writing?.fields ?? [])
          expect(await outcome(tool, token, { ...least, [field]: exampleOf(fields[field] as TSchema) })).toBe(
            `${tool.name}: forbidden`,
          )
      }
    }
    expect(await fingerprint(t.app.driver)).toEqual(before)
  })

  test('a scope for one resource gives no access to another', () =>
    refused(a.owner, ['organizations:write'], tools, a, 'forbidden'))

  test('an owner can use every tool', async () => {
    const t = await sharedApp()
    const token = await mcpToken(t, a.owner, { scopes: ['write'] })
    // A deleted record is not found, and an archived project accepts no changes.
    const rank = (tool: Tool) => (tool.name.startsWith('archive_') ? 2 : tool.action.hints.destructive ? 1 : 0)
    const list = tools.toSorted((x, y) => rank(x) - rank(y))
    for (const tool of list) expect(await outcome(tool, token, argumentsOf(tool, a))).toBe(`${tool.name}: done`)
  })
})
