import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { AiSession, Message } from '../../src/features/assistant/schema.ts'
import { type Person, person, type TestApp, testApp } from '../support/app.ts'
import { type Llama, startLlama } from '../support/llama.ts'
import { SENTENCE } from '../support/tiny-model.ts'
import { indexed, write } from './search-support.ts'

/** The assistant with a real server: llama.cpp, as Debian ships it. */
let llama: Llama
let t: TestApp
beforeAll(async () => {
  llama = await startLlama(8192)
  const model = { CHAT_URL: llama.url, CHAT_MODEL: 'tiny', CHAT_TIMEOUT_SECONDS: '300', CHAT_MAX_SECONDS: '600' }
  t = await testApp({ ...model, background: 'off' })
}, 600_000)
afterAll(async () => {
  await t.close()
  await llama.stop()
})

const ask = async (who: Person, session: AiSession, content: string): Promise<Message> =>
  (await who.fetch<Message>('POST', `/api/ai/sessions/${session.id}/messages`, { content })).body

test('a real model answers with its cost, and is asked again with fewer sources if they were too long', async () => {
  const me = await person(t)
  await write(me, { title: 'Locks', content: 'The folder is locked by one process.' })
  await indexed(t)
  const session = (await me.fetch<AiSession>('POST', '/api/ai/sessions', {})).body
  const answer = await ask(me, session, 'Who locks the folder?')
  expect(answer).toMatchObject({ status: 'complete', content: SENTENCE, citations: [1], usage: { estimated: false } })
  expect((answer.usage?.prompt as number) > 1000).toBe(true)
  // The model reads bytes: eight passages of 1,500 are more than it can.
  for (let i = 0; i < 8; i++) await write(me, { title: `Folder ${i}`, content: `folder ${i} `.repeat(160) })
  await indexed(t)
  const second = await ask(me, session, 'And the folders?')
  expect(second).toMatchObject({ status: 'complete', content: SENTENCE })
  expect(second.sources).toHaveLength(8)
}, 600_000)
