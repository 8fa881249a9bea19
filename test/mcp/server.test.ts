import { beforeAll, expect, test } from 'bun:test'
import * as tokens from '../../src/features/tokens/service.ts'
import { call, mcpToken, type Person, person, testApp } from '../support/app.ts'
import { allowing } from '../support/timing.ts'
import { openRaw } from './support.ts'

let ada: Person
let token: string

beforeAll(async () => {
  const t = await testApp()
  ada = await person(t)
  token = await mcpToken(t, ada)
})

test('the server counts open streams, also after clients disconnect', async () => {
  const METRICS_TOKEN = 'a-metrics-token-for-this-test'
  const whole = await testApp({ METRICS_TOKEN })
  const streams = async () => {
    const { body } = await call<{ text: string }>(whole, 'GET', '/metrics', undefined, {
      authorization: `Bearer ${METRICS_TOKEN}`,
    })
    return Number(/^tutti_mcp_streams (\d+)$/m.exec(body.text)?.[1])
  }
  const response = await fetch(`${whole.url}/mcp/sse`, { headers: { authorization: `Bearer ${token}` } })
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    'x-request-id': expect.any(String),
  })
  const stream = await openRaw(whole.url, token)
  expect(await streams()).toBe(2)
  stream.abort()
  await response.body?.cancel()
  while ((await streams()) > 0) await Bun.sleep(5)
  const last = await openRaw(whole.url, token)
  await whole.close()
  await last.ended
})

// The embedded database has one process by nature.
test.if(process.env.TEST_DB === 'postgres')(
  'revoking a token on one instance closes its streams on another within a second',
  async () => {
    const [here, there] = [await testApp(), await testApp()]
    const made = await tokens.createToken(await ada.ctx(), { name: 'gone', organizationId: ada.organizationId })
    const stream = await openRaw(there.url, made.token as string)
    const { status } = await call(here, 'DELETE', `/api/mcp-tokens/${made.id}`, undefined, {
      authorization: `Bearer ${ada.token}`,
    })
    expect(status).toBe(200)
    const revoked = performance.now()
    await stream.ended
    expect(performance.now() - revoked).toBeLessThan(allowing(1000))
    await here.close()
    await there.close()
  },
)
