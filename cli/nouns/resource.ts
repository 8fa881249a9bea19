import type { Client } from '../api/client.ts'
import { pathTo, withQuery } from '../api/reference.ts'
import { type Column, tableLines } from '../terminal/output.ts'
import { type CommandOutput, choice, count, eitherOf, type Field, flag, outputOf, text, type Verb } from './noun.ts'

export interface Page<T> {
  items: T[]
  nextCursor: string | null
  total?: number
}

export const paging: Field[] = [
  count('-n, --limit <number>', 'maximum number of results (default: 50)'),
  flag('--all', 'list all results'),
  text('--cursor <cursor>', 'continue an earlier list (nextCursor in its JSON)'),
]
/** `--all` removes both limits: the number of results and their state. */
const pagingWith = (others: string): Field[] =>
  paging.map((field) => (field.flag === '--all' ? flag('--all', `list all results, including ${others} ones`) : field))
/** For lists that show open work by default. */
export const workPaging = pagingWith('closed')
/** For lists that show active records by default. */
export const archivePaging = pagingWith('archived')
export const withArchived = (fields: Record<string, unknown>): Record<string, unknown> =>
  fields.all && fields.status === undefined ? { ...fields, status: 'all' } : fields

/** Limits a list to open work, unless `--all` or a status asks for more. */
export const openOnly = (fields: Record<string, unknown>): Record<string, unknown> =>
  fields.all || fields.status !== undefined ? fields : { open: true, ...fields }
/** Returns the text to print instead of an empty list. */
export const emptyMessage = (noun: string, { all, status }: Record<string, unknown>): string =>
  all || status !== undefined ? `No ${noun}.` : `No open ${noun}. To list closed ones, add --all.`

export const sorting = (...by: string[]): Field[] => [
  text('--sort <field>', `sort by ${eitherOf(by)}`, { choices: by }),
  choice('--order <order>', ['asc', 'desc']),
]

/** Reads as many items as were asked for, in as many requests as that takes. */
export async function fetchPages<T>(
  client: Client,
  path: string,
  { limit, all, ...values }: Record<string, unknown>,
): Promise<Page<T>> {
  const MAX_LIMIT = 200
  const wanted = all ? Number.POSITIVE_INFINITY : limit === undefined ? undefined : Number(limit)
  const step = (done: number) => (wanted === undefined ? undefined : Math.min(MAX_LIMIT, wanted - done))
  const page = await client.get<Page<T>>(withQuery(path, { ...values, limit: step(0) }))
  while (page.nextCursor && wanted !== undefined && page.items.length < wanted) {
    const next = await client.get<Page<T>>(
      withQuery(path, { ...values, limit: step(page.items.length), cursor: page.nextCursor }),
    )
    page.items.push(...next.items)
    page.nextCursor = next.nextCursor
  }
  return page
}

export function listOutput<T>(page: Page<T>, columns: Column<T>[], none: string): CommandOutput {
  if (page.items.length === 0) return { value: page, lines: [], note: none }
  return {
    value: page,
    lines: tableLines(page.items, columns),
    note: page.nextCursor ? 'More results exist. To see them, use --all or a higher --limit.' : undefined,
  }
}

export function deletedOutput(value: { id: string }, noun: string, ref: string | undefined): CommandOutput {
  return {
    ...outputOf(value, `Deleted ${ref}.`),
    note: `To restore it within 24 hours (administrators: 30 days): tutti ${noun} restore ${value.id}`,
  }
}

interface StandardNoun<Item, One> {
  noun: string
  path: string
  what: string
  /** The field that `create` takes as its argument. */
  name: string
  /** A reference to use in examples. */
  sample: string
  columns: Column<Item>[]
  show: (one: One) => string[]
  fields: Field[]
  /** Fields for `create` only, and for `update` only. */
  creates?: Field[]
  changes?: Field[]
  filters: Field[]
  /** Lists show active ones; `--all` shows archived ones too. */
  archives?: true
  update?: 'PUT' | 'PATCH'
  remove?: Field[]
  inProject?: true
  examples: { list: string[]; create: string[]; update: string[] }
}

const withArticle = (what: string): string => `${/^[aeiou]/.test(what) ? 'an' : 'a'} ${what}`

/** Returns the verbs list, show, create, update, delete and restore. A noun adds its own verbs to these. */
export function standardVerbs<Item, One>(of: StandardNoun<Item, One>): Verb[] {
  const { noun, path, what, sample, remove } = of
  const one = (value: One): CommandOutput => ({ value, lines: of.show(value) })
  const show: Verb = {
    name: 'show',
    args: `<${what}>`,
    about: `Show ${withArticle(what)}`,
    examples: [`tutti ${noun} show ${sample}`],
    run: async ({ client, args }) => one(await client.get<One>(pathTo(`${path}/:id`, ...args))),
  }
  const verbs = [listVerb(of), show, createVerb(of, one), updateVerb(of, one)]
  return remove ? [...verbs, deleteVerb(of, remove), restoreVerb(noun, path, what, sample, one)] : verbs
}

const listVerb = <Item, One>(of: StandardNoun<Item, One>): Verb => ({
  name: 'list',
  about: `List ${of.archives ? 'active ' : ''}${of.noun}, last updated first`,
  aliases: ['ls'],
  inProject: of.inProject,
  fields: [...of.filters, ...(of.archives ? archivePaging : paging)],
  examples: [`tutti ${of.noun} list`, ...of.examples.list],
  run: async ({ client, fields, inProject }) => {
    const query = { ...(of.archives ? withArchived(fields) : fields), ...(of.inProject && (await inProject())) }
    return listOutput(await fetchPages<Item>(client, of.path, query), of.columns, `No ${of.noun}.`)
  },
})

const createVerb = <Item, One>(
  { path, what, name, inProject, fields, creates = [], examples }: StandardNoun<Item, One>,
  one: (value: One) => CommandOutput,
): Verb => ({
  name: 'create',
  args: `<${name}>`,
  about: `Create ${withArticle(what)}`,
  inProject,
  fields: [...fields, ...creates],
  examples: examples.create,
  run: async (call) =>
    one(
      await call.client.post<One>(path, {
        [name]: call.args[0],
        ...call.fields,
        ...(inProject && (await call.inProject())),
      }),
    ),
})

const updateVerb = <Item, One>(
  { path, what, name, update = 'PATCH', fields, changes = [], examples }: StandardNoun<Item, One>,
  one: (value: One) => CommandOutput,
): Verb => ({
  name: 'update',
  args: `<${what}>`,
  about: `Update ${withArticle(what)}`,
  fields: [
    text(`-t, --${name} <${name}>`, `new ${name}`),
    ...fields.map(({ required: _, ...field }) => field),
    ...changes,
  ],
  examples: examples.update,
  run: async ({ client, args, fields }) =>
    one(await client.request<One>(update, pathTo(`${path}/:id`, ...args), fields)),
})

const deleteVerb = <Item, One>({ noun, path, what, sample }: StandardNoun<Item, One>, fields: Field[]): Verb => ({
  name: 'delete',
  args: `<${what}>`,
  about: `Delete ${withArticle(what)}`,
  fields,
  examples: [`tutti ${noun} delete ${sample}`],
  run: async ({ client, args, fields }) =>
    deletedOutput(
      await client.request<{ id: string }>('DELETE', withQuery(pathTo(`${path}/:id`, ...args), fields)),
      noun,
      args[0],
    ),
})

export const restoreVerb = <One>(
  noun: string,
  path: string,
  what: string,
  sample: string,
  one: (value: One) => CommandOutput,
): Verb => ({
  name: 'restore',
  args: `<${what}>`,
  about: `Restore ${withArticle(what)} deleted in the last 30 days`,
  online: true,
  examples: [`tutti ${noun} restore ${sample}`],
  run: async ({ client, args }) => one(await client.post<One>(pathTo(`${path}/:id/restore`, ...args))),
})
