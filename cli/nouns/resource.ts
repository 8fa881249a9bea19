import type { Client } from '../api/client.ts'
import { at, query } from '../api/reference.ts'
import { type Column, table } from '../terminal/output.ts'
import { type Call, count, type Field, flag, type Shown, shown, text, type Verb } from './noun.ts'

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
export const sorting = (...by: string[]): Field[] => [
  text('--sort <field>', `sort by ${by.join(', ').replace(/, (?=[^,]*$)/, ' or ')}`),
  text('--order <order>', 'asc or desc'),
]

/** Reads as many items as were asked for, in as many requests as that takes. */
export async function pages<T>(
  client: Client,
  path: string,
  { limit, all, ...values }: Record<string, unknown>,
): Promise<Page<T>> {
  const MAX_LIMIT = 200
  const wanted = all ? Number.POSITIVE_INFINITY : limit === undefined ? undefined : Number(limit)
  const step = (done: number) => (wanted === undefined ? undefined : Math.min(MAX_LIMIT, wanted - done))
  const page = await client.get<Page<T>>(query(path, { ...values, limit: step(0) }))
  while (page.nextCursor && wanted !== undefined && page.items.length < wanted) {
    const next = await client.get<Page<T>>(
      query(path, { ...values, limit: step(page.items.length), cursor: page.nextCursor }),
    )
    page.items.push(...next.items)
    page.nextCursor = next.nextCursor
  }
  return page
}

export function listed<T>(page: Page<T>, columns: Column<T>[], none: string): Shown {
  if (page.items.length === 0) return { value: page, lines: [], note: none }
  return {
    value: page,
    lines: table(page.items, columns),
    note: page.nextCursor ? 'There are more. Use --all or a higher --limit to see them.' : undefined,
  }
}

export function removed(value: { id: string }, noun: string, ref: string | undefined): Shown {
  return {
    ...shown(value, `Deleted ${ref}.`),
    note: `To restore it within 30 days: tutti ${noun} restore ${value.id}`,
  }
}

/** Returns the verbs list, show, create, update, delete and restore. A noun adds its own verbs to these. */
export function plainVerbs<Item, One>(of: {
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
  update?: 'PUT' | 'PATCH'
  remove?: Field[]
  inProject?: true
  examples: { list: string[]; create: string[]; update: string[] }
}): Verb[] {
  const { noun, path, what } = of
  const article = /^[aeiou]/.test(what) ? 'an' : 'a'
  const one = (value: One): Shown => ({ value, lines: of.show(value) })
  return [
    {
      name: 'list',
      about: `List ${noun}, last updated first`,
      aliases: ['ls'],
      inProject: of.inProject,
      fields: [...of.filters, ...paging],
      examples: [`tutti ${noun} list`, ...of.examples.list],
      run: async (call) =>
        listed(
          await pages<Item>(call.client, path, { ...call.fields, ...(of.inProject && (await call.inProject())) }),
          of.columns,
          `No ${noun}.`,
        ),
    },
    {
      name: 'show',
      args: `<${what}>`,
      about: `Show ${article} ${what}`,
      examples: [`tutti ${noun} show ${of.sample}`],
      run: async ({ client, args }) => one(await client.get<One>(at(`${path}/:id`, ...args))),
    },
    {
      name: 'create',
      args: `<${of.name}>`,
      about: `Create ${article} ${what}`,
      inProject: of.inProject,
      fields: [...of.fields, ...(of.creates ?? [])],
      examples: of.examples.create,
      run: async (call) =>
        one(
          await call.client.post<One>(path, {
            [of.name]: call.args[0],
            ...call.fields,
            ...(of.inProject && (await call.inProject())),
          }),
        ),
    },
    {
      name: 'update',
      args: `<${what}>`,
      about: `Update ${article} ${what}`,
      fields: [
        text(`-t, --${of.name} <${of.name}>`, `new ${of.name}`),
        ...of.fields.map(({ required: _, ...field }) => field),
        ...(of.changes ?? []),
      ],
      examples: of.examples.update,
      run: async ({ client, args, fields }) =>
        one(await client.request<One>(of.update ?? 'PATCH', at(`${path}/:id`, ...args), fields)),
    },
    ...(of.remove
      ? [
          {
            name: 'delete',
            args: `<${what}>`,
            about: `Delete ${article} ${what}`,
            fields: of.remove,
            examples: [`tutti ${noun} delete ${of.sample}`],
            run: async ({ client, args, fields }: Call) =>
              removed(
                await client.request<{ id: string }>('DELETE', query(at(`${path}/:id`, ...args), fields)),
                noun,
                args[0],
              ),
          } satisfies Verb,
          restoring(noun, path, what, of.sample, one),
        ]
      : []),
  ]
}

export const restoring = <One>(
  noun: string,
  path: string,
  what: string,
  sample: string,
  one: (value: One) => Shown,
): Verb => ({
  name: 'restore',
  args: `<${what}>`,
  about: `Restore ${/^[aeiou]/.test(what) ? 'an' : 'a'} ${what} deleted in the last 30 days`,
  examples: [`tutti ${noun} restore ${sample}`],
  run: async ({ client, args }) => one(await client.post<One>(at(`${path}/:id/restore`, ...args))),
})
