import { expect, test } from 'bun:test'
import { call, sharedApp } from '../support/app.ts'
import { allowing } from '../support/timing.ts'
import { slowClients } from './slow.ts'

const t = await sharedApp()
const clients = await slowClients()

test('slow clients do not delay others', async () => {
  for (let i = 0; i < 20; i++) expect((await call(t, 'GET', '/health')).status).toBe(200)
})

test.each(clients.map(({ name, ended }): [string, typeof ended] => [name, ended]))(
  'a client that %s is disconnected',
  async (_name, ended) => {
    const seconds = await ended
    expect(seconds).not.toBe('still open')
    expect(seconds).toBeLessThanOrEqual(30 + allowing(6))
  },
  300_000,
)

test('the server is healthy after slow clients', async () => {
  expect((await call(t, 'GET', '/health')).status).toBe(200)
})
