import { beforeAll, describe, expect, test } from 'bun:test'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { type Person, person, sharedApp } from '../support/app.ts'

/** Which answers of the API are compressed, and for whom. */
const t = await sharedApp()
const ownPage = { 'sec-fetch-site': 'same-origin' }
let ada: Person
let long: string
beforeAll(async () => {
  ada = await person(t)
  const made = await ada.fetch<{ id: string }>('POST', '/api/notes', {
    title: 'Long',
    content: 'a word '.repeat(20_000),
  })
  long = `/api/notes/${made.body.id}`
})
const get = (path: string, headers: Record<string, string>) =>
  fetch(t.app.url + path, { headers: { authorization: `Bearer ${ada.token}`, ...headers }, decompress: false })

describe('an answer of the API', () => {
  test('is compressed for the pages of this server, as their browser accepts', async () => {
    const plain = await (await get(long, {})).text()
    const [zstd, gzip] = await Promise.all([
      get(long, { ...ownPage, 'accept-encoding': 'gzip, deflate, br, zstd' }),
      get(long, { ...ownPage, 'accept-encoding': 'gzip, deflate, zstd;q=0' }),
    ])
    expect(zstd.headers.get('content-encoding')).toBe('zstd')
    expect(gzip.headers.get('content-encoding')).toBe('gzip')
    expect(zstd.headers.get('vary')).toBe('Authorization, Cookie, X-Organization-Id, Accept-Encoding')
    expect(zstdDecompressSync(await zstd.bytes()).toString()).toBe(plain)
    expect(gunzipSync(await gzip.bytes()).toString()).toBe(plain)
    // A few kilobytes are compressed on the event loop.
    const small = await get('/api/frame', { ...ownPage, 'accept-encoding': 'zstd' })
    expect(JSON.parse(zstdDecompressSync(await small.bytes()).toString())).toHaveProperty('me')
  })

  test('has an ETag with which the browser gets 304 the next time', async () => {
    const headers = { ...ownPage, 'accept-encoding': 'gzip' }
    const etag = (await get(long, headers)).headers.get('etag') ?? ''
    expect(etag).toStartWith('W/"1.')
    expect((await get(long, { ...headers, 'if-none-match': etag })).status).toBe(304)
  })

  test('is sent as it is to other sites, programs, and browsers that accept no compression', async () => {
    for (const headers of [
      { 'accept-encoding': 'gzip, zstd' },
      { 'accept-encoding': 'gzip, zstd', 'sec-fetch-site': 'cross-site' },
      { 'accept-encoding': 'gzip, zstd', 'sec-fetch-site': 'none' },
      { 'accept-encoding': 'identity', ...ownPage },
    ] as Record<string, string>[]) {
      const answer = await get(long, headers)
      expect({ headers, encoding: answer.headers.get('content-encoding') }).toEqual({ headers, encoding: null })
      expect(((await answer.json()) as { title: string }).title).toBe('Long')
    }
  })

  test('is not compressed if it is short, an error or a stream', async () => {
    const headers = { ...ownPage, 'accept-encoding': 'gzip, zstd' }
    for (const path of ['/api/teams', '/api/notes/none', '/api/export?format=json']) {
      const answer = await get(path, headers)
      expect({ path, encoding: answer.headers.get('content-encoding') }).toEqual({ path, encoding: null })
      await answer.text()
    }
  })
})
