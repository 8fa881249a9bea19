import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Role } from '../../src/auth/policy.ts'
import { loadConfig } from '../../src/config.ts'
import * as members from '../../src/features/organizations/members.ts'
import * as tokens from '../../src/features/tokens/service.ts'
import { Guard } from '../../src/http/guard.ts'
import { problemResponse } from '../../src/http/problem.ts'
import { createMcp } from '../../src/mcp/server.ts'
import { toAppError } from '../../src/thrown.ts'
import { mcpToken, member, person, sharedApp, type TestApp } from '../support/app.ts'
import { fixture } from './fixture.ts'
import { install, programs, run } from './install.ts'

/** The official conformance suite: on a fixture behind our HTTP layer, and its generic scenarios on the server as it is. */
const folder = mkdtempSync(join(tmpdir(), 'tutti-conformance-'))
let t: TestApp
const urls = { product: '', fixture: '' }
const stops: (() => Promise<unknown>)[] = []

/** The suite cannot send a token, so it is added on the way in. */
const withToken = (request: Request, token: string): Request => {
  const headers = new Headers(request.headers)
  headers.set('authorization', `Bearer ${token}`)
  return new Request(request, { headers })
}

const conformance = async (url: string, ...args: string[]): Promise<{ code: number; out: string }> =>
  run([...programs.conformance, 'server', '--url', `${url}/mcp`, '--timeout', '60000', '-o', folder, ...args], {
    seconds: 280,
  })

const baseline = (name: string, lines: readonly string[]): string => {
  const path = join(folder, `${name}.yml`)
  writeFileSync(path, `server:\n${lines.map((line) => `  - ${line}\n`).join('')}`)
  return path
}

describe.if(process.env.FULL === '1')('the MCP conformance suite', () => {
  beforeAll(async () => {
    await install()
    t = await sharedApp()
    const ada = await person(t)
    const token = await mcpToken(t, ada)
    const product = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: (request) => t.server.handle(withToken(request, token)),
    })
    urls.product = product.url.origin

    // A change of role is what makes the product list other tools.
    const grace = await member(t, ada, 'member')
    const ctx = await grace.ctx()
    const made = await tokens.createToken(
      { ...ctx, actor: { ...ctx.actor, organizationId: ada.organizationId } },
      { name: 'fixture', organizationId: ada.organizationId },
    )
    let role: Role = 'member'
    const trigger = async () => {
      role = role === 'member' ? 'viewer' : 'member'
      await members.setRole(await ada.ctx(), { id: ada.organizationId, userId: grace.userId, role })
    }
    const guard = new Guard(
      loadConfig({
        env: { DATA_DIR: t.app.config.DATA_DIR, RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_BURST: '1000000' },
      }),
    )
    const mcp = createMcp(t.app, guard, [], fixture(trigger))
    const served = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 30,
      fetch(request) {
        try {
          guard.check(request)
          return mcp.streamable(withToken(request, made.token as string))
        } catch (error) {
          return problemResponse(toAppError(error), '/mcp', crypto.randomUUID(), {})
        }
      },
    })
    guard.attach(served)
    urls.fixture = served.url.origin
    stops.push(
      () => product.stop(true),
      () => mcp.close().then(() => served.stop(true)),
    )
  }, 300_000)

  afterAll(async () => {
    for (const stop of stops) await stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('passes all required scenarios of 2026-07-28', async () => {
    const { code, out } = await conformance(urls.fixture, '--requirements', '2026-07-28')
    expect([code, code === 0 ? '' : out.slice(-6000)]).toEqual([0, ''])
  }, 300_000)

  test('passes 2025-11-25 except for requests from server to client, which need sessions', async () => {
    const { code, out } = await conformance(
      urls.fixture,
      '--requirements',
      '2025-11-25',
      '--expected-failures',
      baseline('2025', [
        'tools-call-sampling',
        'tools-call-elicitation',
        'elicitation-sep1034-defaults',
        'elicitation-sep1330-enums',
      ]),
    )
    expect([code, code === 0 ? '' : out.slice(-6000)]).toEqual([0, ''])
  }, 300_000)

  /** Scenarios that need no tools of theirs, with the checks that do. */
  const generic: [revision: string, scenario: string, untestable?: string[]][] = [
    ['2025-11-25', 'server-initialize'],
    ['2025-11-25', 'ping'],
    ['2025-11-25', 'tools-list'],
    ['2025-11-25', 'resources-list'],
    ['2025-11-25', 'prompts-list'],
    ['2025-11-25', 'dns-rebinding-protection'],
    ['2026-07-28', 'tools-list'],
    ['2026-07-28', 'resources-list'],
    ['2026-07-28', 'prompts-list'],
    ['2026-07-28', 'dns-rebinding-protection'],
    ['2026-07-28', 'http-header-validation'],
    ['2026-07-28', 'input-required-result-unsupported-methods'],
    ['2026-07-28', 'sep-2164-resource-not-found'],
    ['2026-07-28', 'caching'],
    [
      '2026-07-28',
      'server-stateless',
      [
        'server-stateless:sep-2575-server-rejects-undeclared-capability',
        'server-stateless:sep-2575-missing-capability-http-400',
        'server-stateless:sep-2575-http-server-no-independent-requests-on-stream',
        'server-stateless:sep-2575-server-no-log-without-loglevel',
        'server-stateless:sep-2575-server-sends-tools-list-changed-on-subscription',
        'server-stateless:sep-2575-server-sends-prompts-list-changed-on-subscription',
      ],
    ],
  ]
  test('passes the scenarios for any server on the built binary', async () => {
    const failed: string[] = []
    const left = [...generic]
    const work = async () => {
      for (let next = left.pop(); next; next = left.pop()) {
        const [revision, scenario, untestable = []] = next
        const expected = untestable.length > 0 ? ['--expected-failures', baseline(scenario, untestable)] : []
        const { code, out } = await conformance(
          urls.product,
          '--spec-version',
          revision,
          '--scenario',
          scenario,
          ...expected,
        )
        if (code !== 0) failed.push(`${revision} ${scenario}: ${out.slice(-2000)}`)
      }
    }
    await Promise.all([work(), work(), work()])
    expect(failed).toEqual([])
  }, 300_000)
})
