import type { Command } from '../../src/control/command.ts'
import type { Page, Post } from '../../src/features/site/content-schema.ts'
import { pageCommands, postCommands } from '../../src/features/site/control.ts'
import { control } from '../operating/control.ts'
import { type CommonOptions, settingsOf } from '../operating/settings.ts'
import { note, plain, print } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { instantOf } from '../terminal/times.ts'

export type Noun = 'pages' | 'posts'
type Common = CommonOptions & { json?: boolean }
type Text = Page | Post
type Listed = Pick<Text, 'id' | 'title' | 'slug' | 'status' | 'publishedAt' | 'live'>

interface Query {
  limit: number
  search?: string
  slug?: string
  deleted?: boolean
}

interface Commands {
  list: Command<Query, { items: Listed[]; nextCursor: string | null }>
  get: Command<{ id: string }, Text>
  create: Command<{ title: string }, Text>
  update: Command<{ id: string }, Text>
  remove: Command<{ id: string }, { id: string; deleted: true }>
  restore: Command<{ id: string }, Text>
}
const commands: Record<Noun, Commands> = { pages: pageCommands, posts: postCommands }
const paths: Record<Noun, string> = { pages: '/p/', posts: '/blog/' }

const LIMIT = 200
const stateOf = ({ live, status, publishedAt }: Listed): string =>
  live ? 'live' : status === 'draft' ? 'draft' : `scheduled for ${publishedAt}`
const line = (noun: Noun, text: Listed): string =>
  plain(`${paths[noun]}${text.slug}  ${text.title}  (${stateOf(text)})`)

interface Listing extends Common {
  search?: string
  deleted?: boolean
}

export async function listTexts(noun: Noun, { json, search, deleted, ...common }: Listing): Promise<void> {
  const query = { limit: LIMIT, ...(search && { search }), ...(deleted && { deleted }) }
  const page = await control(settingsOf(common), commands[noun].list, query)
  print(json, page, ...page.items.map((text) => line(noun, text)))
  if (!json && page.items.length === 0) note(`No ${noun}.`)
  if (!json && page.nextCursor) note(`Only the ${LIMIT} changed last are shown. Use --search to find others.`)
}

/** Returns the id of a text that is given by its id or slug. Of deleted ones with the same slug, the last is meant. */
async function idOf(noun: Noun, ref: string, common: CommonOptions, deleted = false): Promise<string> {
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(ref)) return ref
  const query = { limit: 1, slug: ref, ...(deleted && { deleted }) }
  const [found] = (await control(settingsOf(common), commands[noun].list, query)).items
  const list = `tutti ${noun} list${deleted ? ' --deleted' : ''}`
  if (!found) throw new Refusal(`Slug ${ref} not found. List the ${noun} with: ${list}`)
  return found.id
}

export async function showText(noun: Noun, ref: string, { json, ...common }: Common): Promise<void> {
  const text = await control(settingsOf(common), commands[noun].get, { id: await idOf(noun, ref, common) })
  print(json, text, line(noun, text), '', text.content.trimEnd())
}

interface Writing extends Common {
  title?: string
  slug?: string
  description?: string
  file?: string
  publish?: boolean
  draft?: boolean
  at?: string
}

/** Returns the fields that the options set. The text comes from a file, or with `-` from standard input. */
async function fieldsOf({ title, slug, description, file, publish, draft, at }: Writing): Promise<object> {
  const content = file === undefined ? undefined : await (file === '-' ? Bun.stdin : Bun.file(file)).text()
  const status = draft ? 'draft' : publish || at !== undefined ? 'published' : undefined
  return {
    ...(title !== undefined && { title }),
    ...(slug !== undefined && { slug }),
    ...(description !== undefined && { description }),
    ...(content !== undefined && { content }),
    ...(status && { status }),
    ...(at !== undefined && { publishedAt: instantGiven(at) }),
  }
}

function instantGiven(text: string): string {
  const at = instantOf(text)
  if (at === undefined) throw new Refusal('--at must be a time, such as 2026-12-24T09:00Z.', 2)
  return at
}

export async function createText(noun: Noun, title: string, options: Writing): Promise<void> {
  const fields = await fieldsOf(options)
  const text = await control(settingsOf(options), commands[noun].create, { ...fields, title })
  print(options.json, text, line(noun, text))
}

export async function updateText(noun: Noun, ref: string, options: Writing): Promise<void> {
  const fields = await fieldsOf(options)
  if (Object.keys(fields).length === 0)
    throw new Refusal('Nothing to change. Use an option such as --publish or --file text.md.')
  const id = await idOf(noun, ref, options)
  const text = await control(settingsOf(options), commands[noun].update, { ...fields, id })
  print(options.json, text, line(noun, text))
}

export async function deleteText(noun: Noun, ref: string, { json, ...common }: Common): Promise<void> {
  const gone = await control(settingsOf(common), commands[noun].remove, { id: await idOf(noun, ref, common) })
  print(json, gone, `Deleted ${ref}.`)
}

export async function restoreText(noun: Noun, ref: string, { json, ...common }: Common): Promise<void> {
  const text = await control(settingsOf(common), commands[noun].restore, { id: await idOf(noun, ref, common, true) })
  print(json, text, line(noun, text))
}
