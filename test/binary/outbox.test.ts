import { afterAll, describe, expect, test } from 'bun:test'
import type { OutboxMail } from '../../src/features/mail/schema.ts'
import { json, type Served, serve, tutti } from '../support/binary.ts'
import { codeIn, mailServer } from '../support/mail.ts'

const stops: (() => Promise<unknown>)[] = []
const running = async (options: Parameters<typeof serve>[0] = {}): Promise<Served> => {
  const server = await serve(options)
  stops.push(() => server.kill())
  return server
}
afterAll(() => Promise.all(stops.map((stop) => stop())))

const post = (server: Served, path: string, body: object) => fetch(server.url + path, json('POST', body))

describe('tutti outbox', () => {
  test('prints unsent mail, also while no server is running, but no used codes', async () => {
    const server = await running()
    const outbox = (...options: string[]) => tutti(['outbox', '--data-dir', server.dir, ...options])
    expect(await outbox()).toEqual({ code: 0, out: '', err: 'No unsent mail.\n' })
    expect(JSON.parse((await outbox('--json')).out)).toEqual({ items: [], nextCursor: null })

    expect((await post(server, '/api/auth/otp/send', { email: 'ada@example.com' })).status).toBe(200)
    expect((await post(server, '/api/auth/magic-link/send', { email: 'grace@example.com' })).status).toBe(200)
    const printed = await outbox()
    expect(printed.code).toBe(0)
    expect(printed.out).toMatch(/^To {7}ada@example\.com\nSubject {2}Your sign-in code\nStatus {3}kept, \d+ min left/)
    expect(printed.out).toContain(`    ${server.url}/magic#svc_one_`)
    const { items: mails } = JSON.parse((await outbox('--json')).out) as { items: OutboxMail[] }
    expect(mails.map(({ to, kind, status }) => [to, kind, status])).toEqual([
      ['grace@example.com', 'magic_link', 'kept'],
      ['ada@example.com', 'code', 'kept'],
    ])
    const code = codeIn({ text: mails[1]?.text as string })
    expect(printed.out).toContain(`\n        ${code}\n`)
    expect((await post(server, '/api/auth/otp/verify', { email: 'ada@example.com', code })).status).toBe(200)
    expect((await outbox()).out).not.toContain('ada@example.com')

    expect(await server.stop()).toBe(0)
    const after = await outbox()
    expect(after.code).toBe(0)
    expect(after.out).toContain('To       grace@example.com')
    expect(after.out).toContain(`${server.url}/magic#svc_one_`)
  })

  test('exits with code 2 for bad input', async () => {
    expect((await tutti(['outbox', '--wat'])).code).toBe(2)
  })
})

test('the binary sends mail', async () => {
  const mail = await mailServer()
  const server = await running({ env: mail.settings })
  await post(server, '/api/auth/otp/send', { email: 'ada@example.com' })
  const code = codeIn(await mail.mailTo('ada@example.com'))
  expect((await post(server, '/api/auth/otp/verify', { email: 'ada@example.com', code })).status).toBe(200)
  expect((await tutti(['outbox', '--data-dir', server.dir])).err).toBe('No unsent mail.\n')
  expect(server.output()).not.toContain(code)
})
