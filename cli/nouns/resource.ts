import type { Client } from '../api/client.ts'
import { at, query } from '../api/reference.ts'
import { type Column, table } from '../terminal/output.ts'
import { type Call, count, type Field, flag, type Shown, shown, text, type Verb } from './noun.ts'

/** What most nouns do alike. */
export interface Page<T> {
  items: T[]
  nextCursor: string | null
  total?: number
}

export const paging: Field[] = [
  count('-n, --limit <number>', 'at most so many; 50 unless told'),
  flag('--all', 'all there are'),
  text('--cursor <cursor>', 'go on where an earlier list ended (nextCursor in its JSON)'),
]
export const sorting = (...by: string[]): Field[] => [
  text('--sort <field>', `by ${by.join(', ').replace(/, (?=[^,]*$)/, ' or ')}`),
  text('--order <order>', 'asc or desc'),
]

/** As many as were asked for, in as many steps as the API needs. */
export async function pages<T>(
  client: Client,
  path: string,
  { limit, all, ...values }: Record<string, unknown>,
): Promise<Page<T>> {
  const MOST = 200
  const wanted = all ? Number.POSITIVE_INFINITY : limit === undefined ? undefined : Number(limit)
  const step = (done: number) => (wanted === undefined ? undefined : Math.min(MOST, wanted - done))
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
    note: page.nextCursor ? 'There are more. Show them with --all or a higher --limit.' : undefined,
  }
}

export function removed(value: { id: string }, noun: string, ref: string | undefined): Shown {
  return {
    ...shown(value, `Deleted ${ref}.`),
    note: `For 30 days this brings it back: tutti ${noun} restore ${value.id}`,
  }
}

/** List, show, create, update, delete and restore of a plain resource; what it can do beyond that, its noun adds. */
export function plainVerbs<Item, One>(of: {
  noun: string
  path: string
  what: string
  /** The field that `create` takes as its argument. */
  name: string
  /** How one of them is named, in examples. */
  sample: string
  columns: Column<Item>[]
  show: (one: One) => string[]
  fields: Field[]
  /** What can only be given from the start, and what can only be changed. */
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
      about: `List ${noun}, last changed first`,
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
      about: `Make ${article} ${what}`,
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
      about: `Change ${article} ${what}`,
      fields: [
        text(`-t, --${of.name} <${of.name}>`, `a new ${of.name}`),
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
  about: 'Bring back what was deleted in the last 30 days',
  examples: [`tutti ${noun} restore ${sample}`],
  run: async ({ client, args }) => one(await client.post<One>(at(`${path}/:id/restore`, ...args))),
})
