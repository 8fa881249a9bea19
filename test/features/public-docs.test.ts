import { beforeAll, describe, expect, test } from 'bun:test'
import type { NoteLinks, ProjectDoc, ProjectDocPage } from '../../src/features/notes/schema.ts'
import type { Project } from '../../src/features/projects/schema.ts'
import { call, member, type Person, person, sharedApp, type TestApp } from '../support/app.ts'
import { newProject, write } from './search-support.ts'
import { expectNoEvents, expectRefusal, times, watch } from './support.ts'

let t: TestApp
beforeAll(async () => {
  t = watch(await sharedApp())
})

interface Site {
  owner: Person
  project: Project
  /** Where its documents are. */
  at: string
}

async function site(): Promise<Site> {
  const owner = await person(t, { name: 'Ada Lovelace' })
  const team = (await owner.fetch<{ slug: string }>('GET', '/api/team')).body.slug
  const project = await newProject(owner, { visibility: 'public' })
  return { owner, project, at: `/api/public/docs/${team}/${project.slug}` }
}

const publish = ({ owner, project }: Site, title: string, content = '') =>
  write(owner, { title, content, scope: 'public', projectId: project.id })
const list = (at: string) => call<ProjectDocPage>(t, 'GET', at)
const read = (at: string) => call<ProjectDoc>(t, 'GET', at)

describe('the public documents of a project', () => {
  test('are its public notes, for anyone to list and read', async () => {
    const s = await site()
    const handle = (await s.owner.fetch<{ handle: string }>('GET', '/api/auth/me')).body.handle
    const guide = await publish(s, 'Guide', '# Hello\n\nSee [[faq]] and [[Internal]] and [[Guide]].')
    const faq = await publish(s, 'FAQ', 'Nothing yet.')
    const listed = await list(s.at)
    expect(listed.status).toBe(200)
    const item = ({ title, slug, tags, createdAt, updatedAt }: typeof guide) => ({
      title,
      slug,
      tags,
      createdAt,
      updatedAt,
      author: { handle, name: 'Ada Lovelace' },
    })
    expect(listed.body).toEqual({ items: [item(faq), item(guide)], nextCursor: null })
    const one = await read(`${s.at}/${guide.slug}`)
    expect(one.body).toEqual({
      ...item(guide),
      content: guide.content,
      project: { name: s.project.name, slug: s.project.slug },
      mentions: [{ title: 'FAQ', slug: faq.slug }],
      backlinks: [],
    })
    expect((await read(`${s.at}/${faq.slug}`)).body.backlinks).toEqual([{ title: 'Guide', slug: guide.slug }])
    for (const answer of [listed, one]) await expectNoEvents(t, answer)
    expect(
      (await read(`${s.at.toUpperCase().replace('/API/PUBLIC/DOCS', '/api/public/docs')}/${guide.slug}`)).status,
    ).toBe(200)
  })

  test('are paged, in the requested order', async () => {
    const s = await site()
    for (const title of ['B', 'A', 'D', 'C']) await publish(s, title)
    const titles: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: { body: ProjectDocPage } = await list(
        `${s.at}?limit=3&total=true${cursor && `&cursor=${cursor}`}`,
      )
      expect(body.total).toBe(4)
      titles.push(...body.items.map((doc) => doc.title))
      cursor = body.nextCursor
    }
    expect(titles).toEqual(['A', 'B', 'C', 'D'])
    expect((await list(`${s.at}?sort=createdAt`)).body.items.map((doc) => doc.title)).toEqual(['C', 'D', 'A', 'B'])
    for (const query of ['limit=0', 'sort=content', 'search=x'])
      await expectRefusal(t, await list(`${s.at}?${query}`), 422, 'invalid')
    await expectRefusal(t, await list(`${s.at}?cursor=x`), 400, 'invalid.cursor')
  })

  test('contain no other records, even if public documents link to them', async () => {
    const s = await site()
    const inside = await write(s.owner, { title: 'Internal', content: '[[Guide]]', projectId: s.project.id })
    const elsewhere = await write(s.owner, { title: 'Elsewhere', content: '[[Guide]]', scope: 'public' })
    const other = await newProject(s.owner, { visibility: 'public' })
    await write(s.owner, { title: 'Other', content: '[[Guide]]', scope: 'public', projectId: other.id })
    await s.owner.fetch('POST', '/api/specs', {
      title: 'Spec',
      content: 'x',
      status: 'approved',
      projectId: s.project.id,
    })
    const guide = await publish(s, 'Guide', '[[Internal]] [[Elsewhere]] [[Other]]')
    expect((await list(s.at)).body.items.map((doc) => doc.title)).toEqual(['Guide'])
    expect((await read(`${s.at}/${guide.slug}`)).body).toMatchObject({ mentions: [], backlinks: [] })
    for (const { slug } of [inside, elsewhere]) await expectRefusal(t, await read(`${s.at}/${slug}`), 404, 'not_found')
  })

  test('end when the project or the note is no longer public or is deleted', async () => {
    const s = await site()
    const [guide, faq] = [await publish(s, 'Guide'), await publish(s, 'FAQ')]
    await s.owner.fetch('PUT', `/api/notes/${faq.id}`, { scope: 'team' })
    expect((await read(`${s.at}/${faq.slug}`)).status).toBe(404)
    const ownAddress = `/api/notes/public/${guide.slug}`
    expect((await read(ownAddress)).status).toBe(200)
    for (const visibility of ['team', 'private']) {
      await s.owner.fetch('POST', `/api/projects/${s.project.id}/share`, { visibility })
      for (const path of [s.at, `${s.at}/${guide.slug}`, ownAddress])
        await expectRefusal(t, await read(path), 404, 'not_found')
      // Also for those who may see it otherwise: this is what visitors see.
      expect((await s.owner.fetch('GET', s.at)).status).toBe(404)
    }
    await s.owner.fetch('POST', `/api/projects/${s.project.id}/share`, { visibility: 'public' })
    expect((await list(s.at)).body.items.map((doc) => doc.title)).toEqual(['Guide'])
    expect((await read(ownAddress)).status).toBe(200)
    await s.owner.fetch('DELETE', `/api/projects/${s.project.id}`)
    expect((await list(s.at)).status).toBe(404)
    expect((await read(ownAddress)).status).toBe(404)
  })

  test('do not reveal authors whose only public note is in a project that is not public', async () => {
    const s = await site()
    await publish(s, 'Guide')
    const { handle } = (await s.owner.fetch<{ handle: string }>('GET', '/api/auth/me')).body
    const find = async () =>
      (await call<{ items: object[] }>(t, 'GET', `/api/search/public?q=${handle}&kinds=profile`)).body.items
    expect(await find()).toHaveLength(1)
    await s.owner.fetch('POST', `/api/projects/${s.project.id}/share`, { visibility: 'private' })
    expect(await find()).toEqual([])
  })

  test('are found at their own team’s address only', async () => {
    const [s, other] = [await site(), await site()]
    const guide = await publish(s, 'Guide')
    const team = other.at.split('/')[4]
    for (const path of [
      `/api/public/docs/${team}/${s.project.slug}`,
      `${other.at}/${guide.slug}`,
      '/api/public/docs/nobody/nothing',
    ])
      await expectRefusal(t, await read(path), 404, 'not_found')
    expect((await list(other.at)).body).toEqual({ items: [], nextCursor: null })
  })
})

describe('the links of a note', () => {
  const links = async (who: Person, id: string) => (await who.fetch<NoteLinks>('GET', `/api/notes/${id}/links`)).body
  const titles = ({ mentions, backlinks }: NoteLinks) => [mentions.map((n) => n.title), backlinks.map((n) => n.title)]

  test('lead both ways, by title in upper or lower case, to notes that the reader can see', async () => {
    const owner = await person(t)
    const viewer = await member(t, owner, 'viewer')
    const secret = await newProject(owner, { visibility: 'private' })
    const target = await write(owner, {
      title: 'Runbook',
      content: 'First [[DEPLOY]], [[deploy]] and [[Ünïcode]], then [[Nowhere]] or [[Plot]] or [[Runbook]].',
    })
    const deploy = await write(owner, { title: 'Deploy', content: 'See [[runbook]].' })
    await write(owner, { title: 'ÜNÏCODE', content: 'x' })
    await write(owner, { title: 'Plot', content: '[[Runbook]]', projectId: secret.id })
    await write(owner, { title: 'Diary', content: '[[Runbook]]', scope: 'personal' })
    expect(titles(await links(owner, target.id))).toEqual([
      ['Deploy', 'Plot', 'ÜNÏCODE'],
      ['Deploy', 'Diary', 'Plot'],
    ])
    expect(titles(await links(viewer, target.id))).toEqual([['Deploy', 'ÜNÏCODE'], ['Deploy']])
    expect((await links(viewer, target.id)).backlinks).toEqual([{ id: deploy.id, title: 'Deploy', slug: deploy.slug }])
    await owner.fetch('DELETE', `/api/notes/${deploy.id}`)
    expect(titles(await links(viewer, target.id))).toEqual([['ÜNÏCODE'], []])
    await expectRefusal(t, await (await person(t)).fetch('GET', `/api/notes/${target.id}/links`), 404, 'not_found')
  })

  test('lead to each of several notes with the title, at most a hundred', async () => {
    const owner = await person(t)
    const twins = [await write(owner, { title: 'Twin' }), await write(owner, { title: 'twin' })]
    const from = await write(owner, { title: 'From', content: '[[Twin]]' })
    expect((await links(owner, from.id)).mentions.map((n) => n.id).sort()).toEqual(twins.map((n) => n.id).sort())
    await Promise.all(times(101, (i) => write(owner, { title: `n${i}`, content: '[[From]]' })))
    expect((await links(owner, from.id)).backlinks).toHaveLength(100)
  })
})
