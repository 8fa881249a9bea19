import { expect, test } from 'bun:test'
import page from '../../src/features/manual/pages/run/live.md' with { type: 'text' }
import { person, testApp } from '../support/app.ts'

type Listen = (
  server: string,
  token: string,
  topics: string[],
  onEvent: (event: { type: string; data: { title: string } }) => void,
  onReset: (reason: string) => void,
) => () => void

test('the example client of the manual misses and repeats no event when its connection is cut', async () => {
  const example = page.split('```js\n')[1]?.split('```')[0] as string
  expect(example.trim().split('\n').length).toBeLessThanOrEqual(30)
  const sockets: WebSocket[] = []
  class Counted extends WebSocket {
    constructor(url: string) {
      super(url)
      sockets.push(this)
    }
  }
  const listen = new Function('WebSocket', `${example}; return listen`)(Counted) as Listen
  const t = await testApp()
  const ada = await person(t)
  const got: string[] = []
  let wake = () => {}
  const until = async (isSo: () => boolean) => {
    while (!isSo()) {
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      await promise
    }
  }
  const stop = listen(
    t.url,
    ada.token,
    [`organization:${ada.organizationId}`],
    ({ type, data }) => {
      if (type === 'note.created') got.push(data.title)
      wake()
    },
    (reason) => void got.push(`reset ${reason}`),
  )
  const write = (title: string) => ada.fetch('POST', '/api/notes', { title, content: 'x' })
  // It receives no events before it has subscribed.
  let probes = 0
  while (got.length === 0) {
    await write(`probe ${probes++}`)
    await Bun.sleep(20)
  }
  const first = got.at(-1) as string
  for (const title of ['one', 'two', 'three']) {
    await write(title)
    await until(() => got.includes(title))
    sockets.at(-1)?.close()
    await write(`after ${title}`)
  }
  await until(() => got.includes('after three'))
  const heard = got.slice(got.indexOf(first) + 1).filter((title) => !title.startsWith('probe'))
  expect(heard).toEqual(['one', 'after one', 'two', 'after two', 'three', 'after three'])
  expect(new Set(got).size).toBe(got.length)
  stop()
  await t.close()
})
