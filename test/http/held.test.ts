import { describe, expect, spyOn, test } from 'bun:test'
import { decodeJwt } from 'jose'
import type { SignedIn } from '../../src/features/accounts/schema.ts'
import { call, mcpToken, PASSWORD, type Person, person, sharedApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { openSocket, type RawAnswer, readResponses, wireRequest } from './socket.ts'

/** A caller who delays the end of a body until they have lost their rights must not use these rights. */
const t = await sharedApp()

/** Sends all but the end of a request, waits until the server accepts it, and returns how to send the rest. */
async function holdRequest(line: string, token: string, body: object): Promise<() => Promise<RawAnswer>> {
  const { sid } = token.startsWith('eyJ') ? decodeJwt(token) : {}
  const isLetIn = () =>
    [...t.app.auth.unwritten()].some(({ actor }) => (sid ? actor.credentialId === sid : actor.kind === 'mcp_token'))
  const text = JSON.stringify(body)
  const socket = await openSocket(t)
  const headers = [
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${text.length}`,
  ]
  await t.app.auth.flushUsage()
  // A background flush would hide the use that `isLetIn` waits for.
  const flushing = spyOn(t.app.auth, 'flushUsage').mockResolvedValue()
  socket.write(wireRequest(t, line, headers, text.slice(0, 5)))
  await until(isLetIn)
  flushing.mockRestore()
  return async () => {
    const answer = readResponses(socket)
    socket.write(text.slice(5))
    const [first] = await answer
    socket.destroy()
    return first as RawAnswer
  }
}

/** A session of its own, which the held request is the first to use. */
const newSession = async ({ email }: Person): Promise<string> =>
  (await call<SignedIn>(t, 'POST', '/api/auth/login', { email, password: PASSWORD })).body.token

describe('a delayed request', () => {
  test('does not keep the role of an administrator who was demoted meanwhile', async () => {
    const [boss, eve] = [await person(t, { admin: true }), await person(t, { admin: true })]
    const path = `/api/admin/users/${eve.userId}/role`
    const finish = await holdRequest(`PATCH ${path}`, await newSession(eve), { role: 'admin' })
    expect((await boss.fetch('PATCH', path, { role: 'user' })).status).toBe(200)
    expect((await finish()).status).toBe(403)
    expect((await boss.fetch('GET', `/api/admin/users/${eve.userId}`)).body.role).toBe('user')
  })

  test('does not begin a change of address after all sessions ended', async () => {
    const ada = await person(t)
    const finish = await holdRequest('POST /api/auth/email-change', await newSession(ada), {
      email: 'thief@example.com',
    })
    const change = { currentPassword: PASSWORD, newPassword: 'seven quiet lamps at dusk' }
    expect((await ada.fetch('POST', '/api/auth/change-password', change)).status).toBe(200)
    expect((await finish()).status).toBe(401)
  })

  test('does not call a tool after its MCP token was revoked', async () => {
    const ada = await person(t)
    const token = await mcpToken(t, ada)
    const { body } = await ada.fetch<{ items: { id: string }[] }>('GET', '/api/mcp-tokens')
    const input = { name: 'create_note', arguments: { title: 'late', content: 'late' } }
    const finish = await holdRequest('POST /mcp', token, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: input })
    expect((await ada.fetch('DELETE', `/api/mcp-tokens/${body.items[0]?.id}`)).status).toBe(200)
    expect((await finish()).status).toBe(401)
  })
})
