import { beforeAll, beforeEach, expect, test } from 'bun:test'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import { apiKey, call, member, type Person, person, sharedApp, systemCtx, type TestApp } from '../support/app.ts'
import { pictureForm, pictures } from '../support/pictures.ts'
import { expectEvent, expectRefusal, watch } from './support.ts'

interface Added {
  id: string
  path: string
  type: string
  name: string
  size: number
}
interface Made {
  id: string
  slug: string
}

let t: TestApp
let ada: Person
beforeAll(async () => {
  t = watch(await sharedApp())
})
beforeEach(async () => {
  ada = await person(t)
})

const [, , png] = pictures[0] as [string, string, Buffer]
const made = async (who: Person, path: string, body: object) => (await who.fetch<Made>('POST', path, body)).body
const note = (who: Person, fields: object = {}) => made(who, '/api/notes', { title: 'Covers', ...fields })
const add = (who: Person, recordId: string, name: string, bytes: Uint8Array = png, kind = 'note') =>
  who.fetch<Added>(
    'POST',
    `/api/uploads?${new URLSearchParams({ kind, recordId, name })}`,
    pictureForm(bytes, 'ignored.html', 'text/html'),
  )
const look = (path: string, who?: Person) =>
  fetch(t.url + path, { headers: who ? { authorization: `Bearer ${who.token}` } : {} })

test('a picture in a note is shown to those who see the note, and listed with it', async () => {
  const { id } = await note(ada)
  const added = await add(ada, id, 'cover page.png')
  expect([added.status, added.body.type, added.body.size]).toEqual([201, 'image/png', png.length])
  const event = await expectEvent(t, added, 'attachment.added')
  expect(event.data).toMatchObject({ name: 'cover page.png', recordId: id })
  const shown = await look(added.body.path, ada)
  expect(shown.status).toBe(200)
  expect(png.equals(Buffer.from(await shown.arrayBuffer()))).toBe(true)
  expect(Object.fromEntries(shown.headers)).toMatchObject({
    'content-type': 'image/png',
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-cache',
    'content-disposition': `inline; filename="cover page.png"; filename*=UTF-8''cover%20page.png`,
  })
  const { body } = await ada.fetch<{ items: Added[] }>('GET', `/api/uploads?kind=note&recordId=${id}`)
  expect(body.items.map(({ id }) => id)).toEqual([added.body.id])
  const stranger = await person(t)
  expect([(await look(added.body.path, stranger)).status, (await look(added.body.path)).status]).toEqual([404, 404])
  const others = await stranger.fetch<{ items: Added[] }>('GET', `/api/uploads?kind=note&recordId=${id}`)
  expect(others.body.items).toEqual([])
  await expectRefusal(t, await add(stranger, id, 'x.png'), 404, 'not_found')
})

test('files other than pictures are only downloaded, whatever type they claim', async () => {
  const { id } = await note(ada)
  const added = await add(ada, id, 'the "plan"\r\n.md', Buffer.from('<script>alert(1)</script>'))
  const shown = await look(added.body.path, ada)
  expect(shown.headers.get('content-type')).toBe('application/octet-stream')
  expect(shown.headers.get('content-disposition')).toStartWith('attachment; filename="the _plan___.md"')
  for (const name of ['page.html', 'pic.svg', 'run.exe', 'nothing'])
    await expectRefusal(t, await add(ada, id, name, Buffer.from('<script>')), 415, 'unsupported_media')
  // A picture is what its bytes say.
  await expectRefusal(t, await add(ada, id, 'pic.png', Buffer.from('<script>')), 415, 'unsupported_media')
  await expectRefusal(t, await add(ada, id, 'large.pdf', Buffer.alloc((10 << 20) + 1)), 413, 'too_large')
})

test('a published note shows its pictures to everyone until it is unpublished or deleted', async () => {
  const { id } = await note(ada, { scope: 'public' })
  const { path } = (await add(ada, id, 'a.png')).body
  expect((await look(path)).status).toBe(200)
  await ada.fetch('PUT', `/api/notes/${id}`, { scope: 'team' })
  expect((await look(path)).status).toBe(404)
  expect((await look(path, ada)).status).toBe(200)
  await ada.fetch('DELETE', `/api/notes/${id}`)
  expect((await look(path, ada)).status).toBe(404)
})

test('a published note of a deleted team shows no pictures', async () => {
  const { id } = await note(ada, { scope: 'public' })
  const { path } = (await add(ada, id, 'a.png')).body
  expect((await look(path)).status).toBe(200)
  await t.app.driver.query('update organizations set deleted_at = now() where id = $1', [ada.organizationId])
  expect((await look(path)).status).toBe(404)
})

test('a file moves with its record to another team, and stays when the former team is deleted', async () => {
  const { id: target } = await made(ada, '/api/teams', { name: 'Second home' })
  const { slug, id: project } = await made(ada, '/api/projects', { name: 'Lantern' })
  const task = await made(ada, `/api/projects/${slug}/tasks`, { title: 'Read' })
  const [inProject, personal] = [await note(ada, { projectId: project }), await note(ada)]
  const files = [
    (await add(ada, task.id, 'a.png', png, 'task')).body.id,
    (await add(ada, inProject.id, 'b.png')).body.id,
    (await add(ada, personal.id, 'c.png')).body.id,
  ]
  const places = async () =>
    (
      await t.app.driver.query(
        'select organization_id from attachments where id = any($1::uuid[]) order by array_position($1::uuid[], id)',
        [`{${files.join(',')}}`],
      )
    ).rows.map(([place]) => place)
  expect(await places()).toEqual([ada.organizationId, ada.organizationId, ada.organizationId])
  expect((await ada.fetch('PUT', `/api/notes/${personal.id}`, { scope: 'personal' })).status).toBe(200)
  expect((await ada.fetch('PATCH', `/api/projects/${slug}`, { organizationId: target })).status).toBe(200)
  expect(await places()).toEqual([target, target, null])
  // As if somebody had not moved them.
  await t.app.driver.query('update attachments set organization_id = $1 where id = any($2::uuid[])', [
    ada.organizationId,
    `{${files.join(',')}}`,
  ])
  await t.app.driver.query('delete from organizations where id = $1', [ada.organizationId])
  expect(await places()).toEqual([null, null, null])
})

test('a credential without access to notes cannot list the files of notes', async () => {
  const { id } = await note(ada)
  await add(ada, id, 'salaries.pdf', Buffer.from('x'))
  const told = async (scopes: string[]) => {
    const key = await apiKey(t, ada, scopes)
    const { body } = await call<{ items: unknown[] }>(t, 'GET', '/api/activities', undefined, {
      authorization: `Bearer ${key}`,
    })
    return JSON.stringify(body.items).includes('salaries.pdf')
  }
  expect(await told(['activities:read', 'uploads:read', 'notes:read'])).toBe(true)
  expect(await told(['activities:read', 'uploads:read'])).toBe(false)
})

test('viewers see files but cannot add any; files of personal notes are for their author', async () => {
  const vera = await member(t, ada, 'viewer', 'Vera')
  const mia = await member(t, ada, 'member', 'Mia')
  const { id } = await note(ada)
  const { path, id: file } = (await add(ada, id, 'a.png')).body
  expect((await look(path, vera)).status).toBe(200)
  await expectRefusal(t, await add(vera, id, 'b.png'), 403, 'forbidden')
  await expectRefusal(t, await vera.fetch('DELETE', `/api/uploads/${file}`), 403, 'forbidden')
  expect((await mia.fetch('DELETE', `/api/uploads/${file}`)).status).toBe(200)
  expect((await look(path, ada)).status).toBe(404)
  const own = await note(ada, { scope: 'personal' })
  const secret = (await add(ada, own.id, 'c.png')).body.path
  expect([(await look(secret, ada)).status, (await look(secret, mia)).status]).toEqual([200, 404])
})

test('a file is deleted when its record is deleted permanently', async () => {
  const { slug } = await made(ada, '/api/projects', { name: 'Lantern' })
  const task = await made(ada, `/api/projects/${slug}/tasks`, { title: 'Read' })
  const { id } = (await add(ada, task.id, 'a.log', Buffer.from('x'), 'task')).body
  const there = async () => (await t.app.driver.query('select 1 from attachments where id = $1', [id])).rows.length
  await purgeExpired(systemCtx(t), {})
  expect(await there()).toBe(1)
  await t.app.driver.query('delete from tasks where id = $1', [task.id])
  await purgeExpired(systemCtx(t), {})
  expect(await there()).toBe(0)
})
