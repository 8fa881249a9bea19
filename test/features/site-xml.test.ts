import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { siteSettings } from '../../src/features/settings/table.ts'
import type { Page, Post } from '../../src/features/site/content-schema.ts'
import { type Person, person, type TestApp, testApp, unique } from '../support/app.ts'

let t: TestApp
let admin: Person
const set = (key: string, body: object) => admin.fetch('PATCH', `/api/admin/settings/${key}`, body)
beforeAll(async () => {
  t = await testApp({ background: 'off' })
  await t.app.db.delete(siteSettings)
  admin = await person(t, { admin: true })
  await set('blog', { enabled: true })
  await set('seo', { indexing: true })
})
afterAll(async () => {
  await t.app.db.delete(siteSettings)
  await t.close()
})

const hard = '\u202e"><&]]>\u0007\ufffe é 漢 😀'
const make = async <T>(path: string, body: object): Promise<T> => {
  const answer = await admin.fetch<T>('POST', path, body)
  expect([answer.status, answer.body]).toEqual([201, answer.body])
  return answer.body
}
const read = async (path: string): Promise<string> => (await fetch(t.url + path)).text()

/** Throws unless every element that begins ends, and text has no bare `&` and no character that XML forbids. */
function requireWellFormed(xml: string): void {
  const open: string[] = []
  const body = xml.replace(/^<\?xml[^>]*\?>\s*/, '')
  for (const [, text = '', end, name, alone] of body.matchAll(
    /([^<]*)<(\/?)([\w:]+)(?:\s+[\w:]+="[^"<]*")*\s*(\/?)>/g,
  )) {
    if (/&(?!#?\w+;)/.test(text)) throw new Error(`a bare & in ${text}`)
    if (end && open.pop() !== name) throw new Error(`</${name}> ends nothing`)
    if (!end && !alone) open.push(name as string)
  }
  const left = body.replace(/[^<]*<\/?[\w:]+(?:\s+[\w:]+="[^"<]*")*\s*\/?>/g, '').trim()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.exec(xml)
  if (open.length > 0 || left || forbidden) throw new Error(`not XML: ${[...open, left, forbidden?.index]}`)
}

/** Checks a document with libxml2, where it is installed. */
async function requireValid(xml: string, schema: 'atom.rng' | 'sitemap.xsd'): Promise<void> {
  requireWellFormed(xml)
  const program = Bun.which('xmllint')
  if (!program) return
  const kind = schema.endsWith('.rng') ? '--relaxng' : '--schema'
  const path = join(import.meta.dir, '../support', schema)
  const checking = Bun.spawn([program, '--noout', '--nonet', kind, path, '-'], {
    stdin: new Blob([xml]),
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const said = await new Response(checking.stderr).text()
  if ((await checking.exited) !== 0) throw new Error(said)
}

describe('the XML formats', () => {
  test('are a valid Atom feed and a valid sitemap, whatever people wrote', async () => {
    await requireValid(await read('/feed.xml'), 'atom.rng')
    await set('general', { siteName: `Name ${hard}`, tagline: hard })
    const post = { title: `Title ${hard}`, content: hard, excerpt: hard, description: hard, status: 'published' }
    await make<Post>('/api/admin/posts', post)
    await make<Page>('/api/admin/pages', { ...post, excerpt: undefined })
    const feed = await read('/feed.xml')
    expect(feed).toContain('é 漢 😀')
    await requireValid(feed, 'atom.rng')
    await requireValid(await read('/sitemap.xml'), 'sitemap.xsd')
    await set('seo', { indexing: false })
    await requireValid(await read('/sitemap.xml'), 'sitemap.xsd')
  })

  test('are checked by a validation that finds errors', async () => {
    const feed = await read('/feed.xml')
    expect(requireValid(feed.replace('</title>', '</titel>'), 'atom.rng')).rejects.toThrow()
    expect(requireValid(feed.replace('<entry>', '<entry>&'), 'atom.rng')).rejects.toThrow()
    if (Bun.which('xmllint'))
      expect(requireValid(feed.replace(/<updated>[^<]*<\/updated>/, ''), 'atom.rng')).rejects.toThrow('feed')
  })
})

describe('a public page of a record', () => {
  test('removes invisible characters, and names its canonical address', async () => {
    const name = unique('Turned')
    const skill = await make<{ slug: string }>('/api/skills', {
      name: `${name} \u202e`,
      description: 'a\u200bb',
      content: 'Pay \u202eADA\u2066 now \u{e0041}',
      scope: 'public',
    })
    const page = await read(`/skills/public/${skill.slug.toUpperCase()}`)
    expect(page).toContain('Pay ADA now')
    expect(page).not.toMatch(/[\u202e\u2066\u200b\u{e0041}]/u)
    expect(page).toContain(`<link rel="canonical" href="${t.app.url}/skills/public/${skill.slug}">`)
  })
})
