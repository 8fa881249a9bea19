import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { ErrorCode } from '../../src/errors.ts'
import { openSocket, readResponses, wireRequest } from '../http/socket.ts'
import { apiKey, call, member, type Person, person, sharedApp, type TestApp, testApp } from '../support/app.ts'
import { exif, gif, jpeg, jpegSegment, pictureForm, pictures, png, pngChunk, pngHeader } from '../support/pictures.ts'
import { expectEvent, expectNoEvents, expectRefusal, inside, statuses, TestClock, times, watch } from './support.ts'

interface Shown {
  id: string
  version: number
  avatarUrl: string | null
  coverUrl: string | null
}

let t: TestApp
let ada: Person
beforeAll(async () => {
  t = watch(await sharedApp())
})
/** A new one for every test: uploads of one user are counted. */
beforeEach(async () => {
  ada = await person(t)
})

const idOf = (url: string | null) => url?.replace('/uploads/', '') as string
/** The picture at an address, as anybody sees it. */
async function look(
  url: string | null,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const response = await fetch(t.url + url, { headers })
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}
const stored = async (id: string) =>
  (
    await t.app.driver.query(
      'select purpose, type, width, height from uploads where user_id = $1 or organization_id = $1',
      [id],
    )
  ).rows
const routes = ['/api/settings/avatar', '/api/settings/cover', '/api/team/avatar']

describe('a user’s own picture', () => {
  test.each(pictures)('of type %s is accepted, and visible to anyone with its address', async (_name, type, bytes) => {
    const who = await person(t)
    const answer = await who.fetch<Shown>(
      'POST',
      '/api/settings/avatar',
      pictureForm(bytes, '../../etc/passwd.html', 'text/html'),
    )
    expect(answer.status).toBe(200)
    const { avatarUrl } = answer.body
    expect(avatarUrl).toMatch(/^\/uploads\/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect((await who.fetch<Shown>('GET', '/api/auth/me')).body.avatarUrl).toBe(avatarUrl)
    const seen = await look(avatarUrl)
    expect([seen.status, seen.bytes]).toEqual([200, bytes])
    expect(Object.fromEntries(seen.headers)).toMatchObject({
      'content-type': type,
      'content-length': String(bytes.length),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'same-origin',
      'content-disposition': `inline; filename="${idOf(avatarUrl)}.${type.replace('image/', '').replace('jpeg', 'jpg')}"`,
      etag: `"${idOf(avatarUrl)}"`,
    })
    expect(seen.headers.get('set-cookie')).toBeNull()
  })

  test('is announced by an event, and raises the version', async () => {
    const who = await person(t)
    const before = (await who.fetch<Shown>('GET', '/api/auth/me')).body
    const avatar = await who.fetch<Shown>('POST', '/api/settings/avatar', pictureForm())
    const event = await expectEvent(t, avatar, 'user.updated')
    expect(event).toMatchObject({ subjectId: who.userId, userId: who.userId, data: { fields: ['avatarUrl'] } })
    const cover = await who.fetch<Shown>('POST', '/api/settings/cover', pictureForm(gif()))
    expect((await expectEvent(t, cover, 'user.updated')).data).toEqual({ fields: ['coverUrl'] })
    expect(cover.body).toMatchObject({ version: before.version + 2, avatarUrl: avatar.body.avatarUrl })
    expect(await stored(who.userId)).toHaveLength(2)
  })

  test('replaces the old one, whose bytes are deleted', async () => {
    const who = await person(t)
    const put = async (bytes: Uint8Array) =>
      (await who.fetch<Shown>('POST', '/api/settings/avatar', pictureForm(bytes))).body.avatarUrl
    const first = await put(png())
    const second = await put(gif())
    expect(second).not.toBe(first)
    expect([(await look(first)).status, (await look(second)).status]).toEqual([404, 200])
    expect(await stored(who.userId)).toEqual([['avatar', 'image/gif', 12, 8]])
  })

  test('can be removed, twice', async () => {
    const who = await person(t)
    const { avatarUrl } = (await who.fetch<Shown>('POST', '/api/settings/avatar', pictureForm())).body
    const { coverUrl } = (await who.fetch<Shown>('POST', '/api/settings/cover', pictureForm())).body
    const cleared = await who.fetch<Shown>('DELETE', '/api/settings/avatar')
    expect([cleared.status, cleared.body.avatarUrl, cleared.body.coverUrl]).toEqual([200, null, coverUrl])
    await expectEvent(t, cleared, 'user.updated')
    expect((await look(avatarUrl)).status).toBe(404)
    expect((await who.fetch<Shown>('DELETE', '/api/settings/avatar')).body.avatarUrl).toBeNull()
    expect((await who.fetch<Shown>('DELETE', '/api/settings/cover')).body.coverUrl).toBeNull()
    expect(await stored(who.userId)).toEqual([])
  })

  test('is one of two uploaded at once, and the other leaves nothing', async () => {
    const who = await person(t)
    for (let round = 0; round < 4; round++) {
      const answers = await Promise.all(times(2, () => who.fetch<Shown>('POST', '/api/settings/avatar', pictureForm())))
      expect(statuses(answers)).toEqual([200, 200])
      const { avatarUrl } = (await who.fetch<Shown>('GET', '/api/auth/me')).body
      expect(answers.map((a) => a.body.avatarUrl)).toContain(avatarUrl)
      expect(await stored(who.userId)).toHaveLength(1)
      expect((await look(avatarUrl)).status).toBe(200)
    }
  })

  test('is refused with 412 at an older version', async () => {
    const who = await person(t)
    const { version, avatarUrl } = (await who.fetch<Shown>('POST', '/api/settings/avatar', pictureForm())).body
    for (const [method, body] of [['POST', pictureForm(gif())], ['DELETE', undefined]] as const)
      await expectRefusal(t, await who.fetch(method, '/api/settings/avatar', body, { 'if-match': `"${version - 1}"` }), 412, 'version_mismatch') // biome-ignore format: a table
    expect((await look(avatarUrl)).status).toBe(200)
    expect(
      (await who.fetch('POST', '/api/settings/avatar', pictureForm(gif()), { 'if-match': `"${version}"` })).status,
    ).toBe(200)
  })

  test('does not contain the place where a photo was taken', async () => {
    const photo = jpeg([jpegSegment(0xe1, exif(6)), jpegSegment(0xfe, 'Grace at home')])
    const { avatarUrl } = (await ada.fetch<Shown>('POST', '/api/settings/avatar', pictureForm(photo))).body
    const { bytes } = await look(avatarUrl)
    expect(photo.includes('GPS 52.5200 N')).toBe(true)
    expect([bytes.includes('GPS'), bytes.includes('Grace'), bytes.includes('Exif')]).toEqual([false, false, true])
    const { rows } = await t.app.driver.query(
      `select position('GPS'::bytea in bytes), octet_length(bytes) from uploads where id = $1`,
      [idOf(avatarUrl)],
    )
    expect(rows).toEqual([[0, bytes.length]])
  })

  test('is answered with 304 if the reader has it, and with 404 once it is removed', async () => {
    const { avatarUrl } = (await ada.fetch<Shown>('POST', '/api/settings/avatar', pictureForm())).body
    const tag = `"${idOf(avatarUrl)}"`
    for (const have of [tag, `W/${tag}`, `"x", ${tag}`]) {
      const again = await look(avatarUrl, { 'if-none-match': have })
      expect([have, again.status, again.bytes.length, again.headers.get('etag')]).toEqual([have, 304, 0, tag])
    }
    expect((await look(avatarUrl, { 'if-none-match': '"x"' })).status).toBe(200)
    await ada.fetch('DELETE', '/api/settings/avatar')
    expect((await look(avatarUrl, { 'if-none-match': tag })).status).toBe(404)
  })
})

describe('the picture of a team', () => {
  test('is set by its admins; bodies of members and viewers are not even read', async () => {
    const owner = await person(t)
    const [manager, worker, viewer] = [
      await member(t, owner, 'admin'),
      await member(t, owner, 'member'),
      await member(t, owner, 'viewer'),
    ]
    const set = await manager.fetch<Shown>('POST', '/api/team/avatar', pictureForm())
    expect([set.status, set.body.id]).toEqual([200, owner.organizationId])
    expect((await expectEvent(t, set, 'organization.updated')).organizationId).toBe(owner.organizationId)
    expect((await owner.fetch<Shown>('GET', '/api/team')).body.avatarUrl).toBe(set.body.avatarUrl)
    for (const who of [worker, viewer]) {
      for (const body of [pictureForm(), { file: 'x' }, 'not even JSON'])
        await expectRefusal(t, await who.fetch('POST', '/api/team/avatar', body), 403, 'forbidden')
      await expectRefusal(t, await who.fetch('DELETE', '/api/team/avatar'), 403, 'forbidden')
    }
    expect((await look(set.body.avatarUrl)).status).toBe(200)
    const cleared = await owner.fetch<Shown>('DELETE', '/api/team/avatar')
    expect(cleared.body.avatarUrl).toBeNull()
    expect(await stored(owner.organizationId)).toEqual([])
  })

  test('cannot be replaced by another person or team', async () => {
    const [grace, joan] = [await person(t), await person(t)]
    const mine = (await grace.fetch<Shown>('POST', '/api/settings/avatar', pictureForm())).body.avatarUrl
    const ours = (await grace.fetch<Shown>('POST', '/api/team/avatar', pictureForm())).body.avatarUrl
    await joan.fetch('POST', '/api/settings/avatar', pictureForm(gif()))
    await joan.fetch('POST', '/api/team/avatar', pictureForm(gif()))
    await joan.fetch('DELETE', '/api/settings/avatar')
    await joan.fetch('DELETE', '/api/team/avatar')
    const foreign = await inside(joan, grace.organizationId).fetch('POST', '/api/team/avatar', pictureForm(gif()))
    await expectRefusal(t, foreign, 404, 'not_found')
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await joan.fetch(method, mine as string, pictureForm(gif()))).status).toBe(405)
    expect((await look(mine)).bytes).toEqual(png())
    expect((await look(ours)).bytes).toEqual(png())
  })

  test('needs a credential that can write: 401 without one, 403 with a read-only key', async () => {
    const reader = { authorization: `Bearer ${await apiKey(t, ada, ['read'])}` }
    const writer = { authorization: `Bearer ${await apiKey(t, ada, ['write'])}` }
    for (const path of routes) {
      expect([path, (await call(t, 'POST', path, pictureForm())).status]).toEqual([path, 401])
      expect([path, (await call(t, 'POST', path, pictureForm(), reader)).status]).toEqual([path, 403])
      expect([path, (await call(t, 'POST', path, pictureForm(), writer)).status]).toEqual([path, 200])
    }
  })
})

describe('an upload is refused', () => {
  const refuse = async (
    body: FormData | string | object | undefined,
    status: number,
    code: ErrorCode,
    headers: Record<string, string> = {},
  ) => {
    const answer = await ada.fetch('POST', '/api/settings/avatar', body, headers)
    return expectRefusal(t, answer, status, code)
  }

  test('with 415 if the body only looks like an upload', async () => {
    const lookalike = {
      file: { path: '/etc/passwd', filepath: '/etc/passwd', name: 'a.png', size: 1, mimetype: 'image/png' },
    }
    await refuse(lookalike, 415, 'unsupported_media')
    await refuse(JSON.stringify(lookalike), 415, 'unsupported_media')
    const types = [
      'application/json',
      'application/json; boundary=multipart/form-data;',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/mixed; boundary=x',
      'multipart/form-data',
      'multipart/form-datax; boundary=x',
      'image/png',
      'application/octet-stream',
      'x; multipart/form-data; boundary=x',
    ]
    for (const type of types) await refuse('{"file":{"path":"/etc/passwd"}}', 415, 'unsupported_media', { 'content-type': type }) // biome-ignore format: a table
    await refuse('file=@/etc/passwd', 415, 'unsupported_media')
    expect((await ada.fetch('POST', '/api/settings/avatar')).status).toBe(415)
    // The same said as a form is a text, and no file either.
    await refuse('{"file":{"path":"/etc/passwd"}}', 400, 'invalid.malformed', {
      'content-type': 'multipart/form-data; boundary=x',
    })
    const text = new FormData()
    text.set('file', '/etc/passwd')
    expect((await refuse(text, 422, 'invalid')).errors).toMatchObject([{ pointer: '/file', code: 'type' }])
  })

  test('if the form has additional, missing or other fields', async () => {
    const form = (...parts: [string, string | Blob][]) => {
      const made = new FormData()
      for (const [name, value] of parts) made.append(name, value as Blob)
      return made
    }
    const picture = new Blob([new Uint8Array(png())], { type: 'image/png' })
    const wrong: [FormData, string, string][] = [
      [form(), '/file', 'required'],
      [form(['file', picture], ['file', picture]), '/file', 'too_many'],
      [form(['file', picture], ['userId', 'x']), '/userId', 'unknown_field'],
      [form(['avatar', picture]), '/avatar', 'unknown_field'],
      [form(['file[]', picture]), '/file[]', 'unknown_field'],
      [form(['__proto__', picture], ['file', picture]), '/__proto__', 'unknown_field'],
      [form(['file', picture], ['x'.repeat(5000), 'x']), `/${'x'.repeat(100)}`, 'unknown_field'],
    ]
    for (const [body, pointer, code] of wrong) {
      const { status, body: problem } = await ada.fetch<{ errors: object[] }>('POST', '/api/settings/avatar', body)
      expect([status, problem.errors]).toEqual([422, [expect.objectContaining({ pointer, code })]])
    }
    const lines = (...text: string[]) => text.join('\r\n')
    const head = 'Content-Disposition: form-data; name="file"; filename="a.png"'
    const broken = [
      '--x',
      '--x--',
      lines('--x', head, '', 'bytes'),
      lines('--x', '', 'bytes', '--x--', ''),
      lines('--y', head, '', 'bytes', '--y--', ''),
      '\0'.repeat(1000),
      '--x\r\n'.repeat(2000),
    ]
    for (const body of broken) {
      const { status } = await ada.fetch('POST', '/api/settings/avatar', body, { 'content-type': 'multipart/form-data; boundary=x' })
      expect([body.slice(0, 20), status >= 400 && status <= 422]).toEqual([body.slice(0, 20), true])
    } // biome-ignore format: a table
  })

  test('with 415 if the file is no picture, whatever its name', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
    for (const [content, name, type] of [
      [svg, 'a.png', 'image/png'], [svg, 'a.svg', 'image/svg+xml'], ['', 'empty.png', 'image/png'], ['<script>alert(1)</script>', 'a.png', 'image/png;charset=x'], ['GIF89a'.slice(0, 5), 'a.gif', 'image/gif'], ['%PDF-1.7', 'a.jpg', 'image/jpeg'],
    ] as const)
      await refuse(pictureForm(Buffer.from(content), name, type), 415, 'unsupported_media') // biome-ignore format: a table
  })

  test('with 422 or 413 if the picture has a tail, is cut off, or is far too large', async () => {
    for (const [, , bytes] of pictures)
      for (const tail of ['<script>alert(1)</script>', 'PK\x03\x04', '*/alert(1)//'])
        await refuse(pictureForm(Buffer.concat([bytes, Buffer.from(tail)])), 422, 'invalid')
    for (const [, , bytes] of pictures) await refuse(pictureForm(bytes.subarray(0, -1)), 422, 'invalid')
    const { detail } = await refuse(pictureForm(png([], pngHeader(50_000, 50_000))), 413, 'too_large')
    expect(detail).toBe('The picture has 50000 × 50000 pixels. The limits are 8192 pixels per side and 40 megapixels.')
  })

  test('or accepted by its bytes, whatever type the sender names', async () => {
    const who = await person(t)
    for (const [name, type] of [['a.svg', 'image/svg+xml'], ['a.php', 'application/x-php'], ['a.png', 'image/png;charset=x'], ['', ''], ['x'.repeat(300), 'x/y'], ['a\0.png', 'image/png'], ['../../../a.png', 'image/gif']] as const) {
      const { status, body } = await who.fetch<Shown>('POST', '/api/settings/avatar', pictureForm(png(), name || 'blob', type))
      expect([name, status]).toEqual([name, 200])
      const { headers } = await look(body.avatarUrl)
      expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual(['image/png', `inline; filename="${idOf(body.avatarUrl)}.png"`])
    } // biome-ignore format: a table
  })

  test('above 1 MiB for an avatar and 5 MiB for a cover', async () => {
    const who = await person(t)
    const sized = (bytes: number) => png([pngChunk('IDAT', Buffer.alloc(bytes - png().length - 12))])
    for (const [path, most] of [['/api/settings/avatar', 1 << 20], ['/api/team/avatar', 1 << 20], ['/api/settings/cover', 5 << 20]] as const) {
      expect(sized(most).length).toBe(most)
      expect([path, (await who.fetch('POST', path, pictureForm(sized(most)))).status]).toEqual([path, 200])
      const refused = await who.fetch('POST', path, pictureForm(sized(most + 1)))
      expect((await expectRefusal(t, refused, 413, 'too_large')).detail).toBe(`The body is larger than ${most} bytes.`)
    } // biome-ignore format: a table
    const { coverUrl } = (await who.fetch<Shown>('GET', '/api/auth/me')).body
    expect((await look(coverUrl)).bytes).toEqual(sized(5 << 20))
  })

  const head = (who: Person, ...more: string[]) =>
    wireRequest(t, 'POST /api/settings/avatar', [
      `Authorization: Bearer ${who.token}`,
      'Content-Type: multipart/form-data; boundary=x',
      ...more,
    ])

  test('with 413 before a byte is read if 10 MB are announced, or when an endless body passes the limit', async () => {
    for (const announced of [`Content-Length: ${10 << 20}`, 'Transfer-Encoding: chunked']) {
      const socket = await openSocket(t)
      try {
        const answers = readResponses(socket)
        socket.write(head(ada, announced))
        if (announced.startsWith('T'))
          for (let sent = 0; sent < 160 && !socket.destroyed; sent++)
            socket.write(`10000\r\n${'a'.repeat(0x10000)}\r\n`)
        expect([announced, (await answers)[0]?.status]).toEqual([announced, 413])
      } finally {
        socket.destroy()
      }
    }
  })

  test('with 429 while two others of the same sender are running', async () => {
    const who = await person(t)
    const slow = await Promise.all(times(2, () => openSocket(t)))
    try {
      for (const socket of slow) socket.write(head(who, 'Content-Length: 1000'))
      let answer = await who.fetch('POST', '/api/settings/avatar', pictureForm())
      while (answer.status === 200) answer = await who.fetch('POST', '/api/settings/avatar', pictureForm())
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
      await expectNoEvents(t, answer)
      expect((await ada.fetch('POST', '/api/settings/avatar', pictureForm())).status).toBe(200)
      const answers = slow.map((socket) => readResponses(socket))
      for (const socket of slow) socket.write('y'.repeat(1000))
      expect((await Promise.all(answers)).map((a) => a[0]?.status)).toEqual([400, 400])
    } finally {
      for (const socket of slow) socket.destroy()
    }
    expect((await who.fetch('POST', '/api/settings/avatar', pictureForm())).status).toBe(200)
  })

  test('to none of many people at once', async () => {
    const people = await Promise.all(times(8, () => person(t)))
    const answers = await Promise.all(
      people.flatMap((who) => times(2, () => who.fetch('POST', '/api/settings/cover', pictureForm()))),
    )
    expect(statuses(answers)).toEqual(Array(16).fill(200))
  })

  test('above thirty a minute', async () => {
    const clock = new TestClock()
    const own = await testApp({ background: 'off' }, clock.now)
    try {
      const who = await person(own)
      const put = () => who.fetch('POST', '/api/settings/avatar', pictureForm())
      for (let i = 0; i < 30; i++) expect((await put()).status).toBe(200)
      expect((await put()).status).toBe(429)
      clock.forward({ minutes: 1 })
      expect((await put()).status).toBe(200)
    } finally {
      await own.close()
    }
  })
})

test('a caller reads at most 100 MiB of pictures a minute; 304 answers are free', async () => {
  const large = png([pngChunk('IDAT', Buffer.alloc((5 << 20) - 2000))])
  const { body } = await ada.fetch<Shown>('POST', '/api/settings/cover', pictureForm(large))
  const headers = { authorization: `Bearer ${await apiKey(t, ada)}` }
  const answers: number[] = []
  for (let n = 0; n < 30 && answers.at(-1) !== 429; n++) answers.push((await look(body.coverUrl, headers)).status)
  expect([answers.length, answers.at(-1)]).toEqual([answers.length, 429])
  expect(answers.length).toBeGreaterThan(19)
  expect((await look(body.coverUrl, headers)).headers.get('retry-after')).toMatch(/^\d+$/)
  const tag = { 'if-none-match': `"${idOf(body.coverUrl)}"` }
  expect((await look(body.coverUrl, { ...headers, ...tag })).status).toBe(304)
  const other = await person(t)
  expect((await look(body.coverUrl, { authorization: `Bearer ${other.token}` })).status).toBe(200)
})

test('pictures are deleted with their account', async () => {
  const who = await person(t)
  const { avatarUrl } = (await who.fetch<Shown>('POST', '/api/settings/avatar', pictureForm())).body
  await t.app.driver.query('delete from memberships where user_id = $1', [who.userId])
  await t.app.driver.query('delete from users where id = $1', [who.userId])
  expect((await look(avatarUrl)).status).toBe(404)
})
