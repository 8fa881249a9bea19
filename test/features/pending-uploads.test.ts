import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import { member, type Person, person, sharedApp, systemCtx, type TestApp } from '../support/app.ts'
import { pictureForm, pictures } from '../support/pictures.ts'
import { expectEvents, expectRefusal, statuses, times, watch } from './support.ts'

interface Uploaded {
  id: string
  path: string
}

let t: TestApp
let ada: Person
let slug: string
beforeAll(async () => {
  t = watch(await sharedApp())
})
beforeEach(async () => {
  ada = await person(t)
  slug = (await ada.fetch<{ slug: string }>('POST', '/api/projects', { name: 'Lantern' })).body.slug
})

const [, , png] = pictures[0] as [string, string, Buffer]
const upload = async (who: Person, name = 'cover.png') =>
  (await who.fetch<Uploaded>('POST', `/api/uploads/pending?name=${name}`, pictureForm(png, name))).body
const create = (who: Person, files: readonly string[]) =>
  who.fetch<{ id: string; key: string }>('POST', `/api/projects/${slug}/tasks`, { title: 'Covers', files })
const filesOf = async (who: Person, taskId: string) =>
  (await who.fetch<{ items: Uploaded[] }>('GET', `/api/uploads?kind=task&recordId=${taskId}`)).body.items
const look = async (who: Person, path: string) =>
  (
    await fetch(t.url + path, {
      headers: { authorization: `Bearer ${who.token}`, 'x-organization-id': who.organizationId },
    })
  ).status

describe('a file that is uploaded before its task', () => {
  test('is visible only to its author until the task names it', async () => {
    const grace = await member(t, ada, 'member')
    const file = await upload(ada)
    expect(file.path).toBe(`/api/uploads/${file.id}`)
    expect([await look(ada, file.path), await look(grace, file.path)]).toEqual([200, 404])
    const made = await create(ada, [file.id])
    expect(made.status).toBe(201)
    const events = await expectEvents(t, made, 'task.created', 'attachment.added')
    expect(events.at(-1)?.data).toMatchObject({ name: 'cover.png', recordId: made.body.id })
    expect(await look(grace, file.path)).toBe(200)
    expect(await filesOf(grace, made.body.id)).toMatchObject([{ id: file.id, kind: 'task', recordId: made.body.id }])
  })

  test('is 404 for a task of another user, and no task is created', async () => {
    const grace = await member(t, ada, 'member')
    const own = await upload(grace)
    const file = await upload(ada)
    await expectRefusal(t, await create(grace, [own.id, file.id]), 404, 'not_found')
    expect((await ada.fetch<{ items: unknown[] }>('GET', '/api/tasks')).body.items).toEqual([])
    expect([await look(ada, file.path), await look(grace, own.path)]).toEqual([200, 200])
    await expectRefusal(t, await grace.fetch('DELETE', file.path), 404, 'not_found')
  })

  test('belongs to one of two tasks that name it at the same moment', async () => {
    const file = await upload(ada)
    const made = await Promise.all(times(2, () => create(ada, [file.id])))
    expect(statuses(made)).toEqual([201, 404])
  })

  test('is deleted by its author, or by a job after 24 hours', async () => {
    const [removed, old, young] = [await upload(ada), await upload(ada), await upload(ada)]
    expect((await ada.fetch('DELETE', removed.path)).status).toBe(200)
    await t.app.driver.query("update pending_uploads set created_at = now() - interval '25 hours' where id = $1", [
      old.id,
    ])
    await purgeExpired(systemCtx(t), {})
    expect(await Promise.all([removed, old, young].map(({ path }) => look(ada, path)))).toEqual([404, 404, 200])
    await expectRefusal(t, await create(ada, [old.id]), 404, 'not_found')
  })
})

describe('a task', () => {
  test('has at most 50 files', async () => {
    const file = await upload(ada)
    const made = await create(ada, [file.id])
    await t.app.driver.query(
      `insert into attachments (id, kind, record_id, organization_id, created_by_id, name, type, size, bytes, created_at)
       select gen_random_uuid(), kind, record_id, organization_id, created_by_id, name, type, 1, '', now()
       from attachments, generate_series(1, 49) where id = $1`,
      [file.id],
    )
    const path = `/api/uploads?kind=task&recordId=${made.body.id}&name=a.png`
    const refused = await ada.fetch('POST', path, pictureForm(png, 'a.png'))
    await expectRefusal(t, refused, 409, 'conflict')
    expect(refused.body.detail).toBe('A task can have at most 50 files. Delete files that you no longer need.')
    await expectRefusal(
      t,
      await create(
        ada,
        times(51, () => crypto.randomUUID()),
      ),
      422,
      'invalid',
    )
  })
})
