import type { ControlCommand } from '../../../src/control/command.ts'
import type { Page, Post } from '../../../src/features/site/content-schema.ts'
import { pageCommands, postCommands } from '../../../src/features/site/control.ts'
import { runControlCommand } from '../../operating/control.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { printNote, printResult, safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { parseInstant } from '../../terminal/times.ts'

export type TextNoun = 'pages' | 'posts'
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
  list: ControlCommand<Query, { items: Listed[]; nextCursor: string | null }>
  get: ControlCommand<{ id: string }, Text>
  create: ControlCommand<{ title: string }, Text>
  update: ControlCommand<{ id: string }, Text>
  remove: ControlCommand<{ id: string }, { id: string; deleted: true }>
  restore: ControlCommand<{ id: string }, Text>
}
const commands: Record<TextNoun, Commands> = { pages: pageCommands, posts: postCommands }
const paths: Record<TextNoun, string> = { pages: '/p/', posts: '/blog/' }

const LIMIT = 200
const stateOf = ({ live, status, publishedAt }: Listed): string =>
  live ? 'live' : status === 'draft' ? 'draft' : `scheduled for ${publishedAt}`
const textLine = (noun: TextNoun, text: Listed): string =>
  safeLine(`${paths[noun]}${text.slug}  ${text.title}  (${stateOf(text)})`)

interface Listing extends Common {
  search?: string
  deleted?: boolean
}

export async function listTexts(noun: TextNoun, { json, search, deleted, ...common }: Listing): Promise<void> {
  const query = { limit: LIMIT, ...(search && { search }), ...(deleted && { deleted }) }
  const page = await runControlCommand(loadSettings(common), commands[noun].list, query)
  printResult(json, page, ...page.items.map((text) => textLine(noun, text)))
  if (!json && page.items.length === 0) printNote(`No ${noun}.`)
  if (!json && page.nextCursor) printNote(`Only the ${LIMIT} changed last are shown. Use --search to find others.`)
}

/** Returns the id of a text that is given by its id or slug. Of deleted ones with the same slug, the last is meant. */
async function findTextId(noun: TextNoun, ref: string, common: CommonOptions, deleted = false): Promise<string> {
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(ref)) return ref
  const query = { limit: 1, slug: ref, ...(deleted && { deleted }) }
  const [found] = (await runControlCommand(loadSettings(common), commands[noun].list, query)).items
  const list = `tutti ${noun} list${deleted ? ' --deleted' : ''}`
  if (!found) throw new Refusal(`Slug ${ref} not found. List the ${noun} with: ${list}`)
  return found.id
}

export async function showText(noun: TextNoun, ref: string, { json, ...common }: Common): Promise<void> {
  const text = await runControlCommand(loadSettings(common), commands[noun].get, {
    id: await findTextId(noun, ref, common),
  })
  printResult(json, text, textLine(noun, text), '', text.content.trimEnd())
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
async function textFields({ title, slug, description, file, publish, draft, at }: Writing): Promise<object> {
  const content = file === undefined ? undefined : await (file === '-' ? Bun.stdin : Bun.file(file)).text()
  const status = draft ? 'draft' : publish || at !== undefined ? 'published' : undefined
  return {
    ...(title !== undefined && { title }),
    ...(slug !== undefined && { slug }),
    ...(description !== undefined && { description }),
    ...(content !== undefined && { content }),
    ...(status && { status }),
    ...(at !== undefined && { publishedAt: parsePublishTime(at) }),
  }
}

function parsePublishTime(text: string): string {
  const at = parseInstant(text)
  if (at === undefined) throw new Refusal('--at must be a time, such as 2026-12-24T09:00Z.', 2)
  return at
}

export async function createText(noun: TextNoun, title: string, options: Writing): Promise<void> {
  const fields = await textFields(options)
  const text = await runControlCommand(loadSettings(options), commands[noun].create, { ...fields, title })
  printResult(options.json, text, textLine(noun, text))
}

export async function updateText(noun: TextNoun, ref: string, options: Writing): Promise<void> {
  const fields = await textFields(options)
  if (Object.keys(fields).length === 0)
    throw new Refusal('Nothing to change. Use an option such as --publish or --file text.md.')
  const id = await findTextId(noun, ref, options)
  const text = await runControlCommand(loadSettings(options), commands[noun].update, { ...fields, id })
  printResult(options.json, text, textLine(noun, text))
}

export async function deleteText(noun: TextNoun, ref: string, { json, ...common }: Common): Promise<void> {
  const gone = await runControlCommand(loadSettings(common), commands[noun].remove, {
    id: await findTextId(noun, ref, common),
  })
  printResult(json, gone, `Deleted ${ref}.`)
}

export async function restoreText(noun: TextNoun, ref: string, { json, ...common }: Common): Promise<void> {
  const text = await runControlCommand(loadSettings(common), commands[noun].restore, {
    id: await findTextId(noun, ref, common, true),
  })
  printResult(json, text, textLine(noun, text))
}
