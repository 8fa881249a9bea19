import { expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nouns } from '../../cli/nouns/index.ts'
import { folder, onTerminal, tutti } from '../support/binary.ts'

/** Sets the title, an 8-bit CSI that clears the screen, one that turns the reading direction, and one that nobody sees. */
const EVIL = 'a\x1b]0;owned\x07\u009b2Jb\u202ec\u{e0041}d'
const steers = /[[\p{Cc}\p{Cf}]--[\t\n]]/v

/** Whatever is asked for, it has it, and everything in it steers. */
const evil: Record<string, unknown> = Object.fromEntries(
  'id key slug name title content body text summary description status kind type scope role email handle prefix last4 priority question answer url branch version why phase query path'
    .split(' ')
    .map((field) => [field, EVIL]),
)
for (const field of ['createdAt', 'updatedAt', 'expiresAt', 'startedAt', 'at']) evil[field] = '2026-01-01T00:00:00.000Z'
for (const field of ['tags', 'labels', 'goals', 'scopes', 'toolsets']) evil[field] = [EVIL]
const answer = {
  ...evil,
  items: [evil],
  tags: [EVIL],
  labels: [EVIL],
  nextCursor: null,
  actor: evil,
  assignee: evil,
  brief: { text: EVIL },
}

async function withServer(
  reply: () => Response,
  work: (env: Record<string, string>, url: string) => Promise<void>,
): Promise<void> {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: reply })
  const url = `http://127.0.0.1:${server.port}`
  const config = join(folder(), 'config')
  mkdirSync(join(config, 'tutti'), { recursive: true })
  const profiles = { here: { server: url, kind: 'api_key', token: 'svc_x' } }
  writeFileSync(join(config, 'tutti', 'credentials.json'), JSON.stringify({ current: 'here', profiles }), {
    mode: 0o600,
  })
  await work({ XDG_CONFIG_HOME: config }, url)
  server.stop(true)
}

test('text from a server cannot control the terminal, with and without --json', async () => {
  const refused = () =>
    Response.json(
      {
        ...answer,
        code: 'conflict',
        status: 409,
        detail: EVIL,
        errors: [{ field: EVIL, message: EVIL }],
        current: evil,
      },
      { status: 409, headers: { 'content-type': 'application/problem+json' } },
    )
  let shown = 0
  for (const reply of [() => Response.json(answer), refused])
    await withServer(reply, async (env) => {
      for (const noun of Object.keys(nouns))
        for (const args of [
          [noun, 'list'],
          [noun, 'show', 'x'],
          [noun, 'delete', 'x'],
          [noun, 'create', 'x', '--project', 'x'],
        ])
          for (const json of [[], ['--json']]) {
            const { out, err } = await tutti([...args, ...json], { env, stdin: '' })
            expect(`${args.join(' ')}: ${JSON.stringify((out + err).match(steers)?.[0] ?? 'nothing')}`).toBe(
              `${args.join(' ')}: "nothing"`,
            )
            if (/owned/.test(out + err)) shown++
            if (json.length > 0 && out) expect(JSON.parse(out)).toBeDefined()
          }
    })
  expect(shown).toBeGreaterThan(40)
}, 900_000)

test('escaped JSON has the same value', async () => {
  await withServer(
    () => Response.json(answer),
    async (env) =>
      expect(JSON.parse((await tutti(['notes', 'show', 'x', '--json'], { env })).out)).toMatchObject({ title: EVIL }),
  )
}, 300_000)

test('our own styles are kept on a terminal', async () => {
  await withServer(
    () => Response.json(answer),
    async (env) => {
      const { shown } = await onTerminal(['notes', 'list'], { env })
      expect(shown).toContain('\x1b[2m')
      expect(shown.replaceAll('\x1b[2m', '').replaceAll('\x1b[0m', '')).not.toMatch(steers)
    },
  )
}, 300_000)
