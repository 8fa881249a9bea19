import type { Command } from 'commander'
import type { Client } from './client.ts'
import { linkedProject } from './linked.ts'
import { type Column, record, table } from './output.ts'
import { signedInClient, type Where } from './profiles.ts'
import { Refusal } from './report.ts'

/** How an option becomes a field of what is sent. */
export type Kind = 'text' | 'list' | 'number' | 'flag' | 'json' | 'time'

export interface Field {
  /** As commander writes it: `-t, --title <text>`. */
  flag: string
  about: string
  /** Name in the API; the option's own unless told. */
  as?: string
  kind?: Kind
  required?: true
}

export interface Call {
  client: Client
  args: string[]
  /** What was given, by the API's names. */
  fields: Record<string, unknown>
  /** The project that --project or the linked folder names. */
  project(): Promise<string | undefined>
  /** The same, when there is no way without. */
  needProject(): Promise<string>
}

export interface Shown {
  /** What `--json` prints. */
  value: unknown
  lines: string[]
}

export interface Verb {
  name: string
  about: string
  /** As commander writes them: `<task> [words...]`. */
  args?: string
  fields?: Field[]
  /** Takes --project, and the linked folder when it is not given. */
  inProject?: true
  examples?: string[]
  aliases?: string[]
  run(call: Call): Promise<Shown>
}

export const text = (flag: string, about: string, more: Partial<Field> = {}): Field => ({ flag, about, ...more })
export const many = (flag: string, about: string, as?: string): Field => ({ flag, about, kind: 'list', as })
export const count = (flag: string, about: string, as?: string): Field => ({ flag, about, kind: 'number', as })
export const flag = (flag: string, about: string, as?: string): Field => ({ flag, about, kind: 'flag', as })
export const time = (flag: string, about: string, as?: string): Field => ({ flag, about: `${about}, such as 2027-01-31`, kind: 'time', as })
export const json = (flag: string, about: string, as?: string): Field => ({ flag, about, kind: 'json', as })

export function build(noun: Command, verbs: readonly Verb[]): void {
  for (const verb of verbs) {
    const command = noun.command(`${verb.name}${verb.args ? ` ${verb.args}` : ''}`).description(verb.about)
    for (const alias of verb.aliases ?? []) command.alias(alias)
    for (const field of verb.fields ?? []) {
      const about = field.kind === 'list' ? `${field.about} (again for more)` : field.about
      const collect = (value: string, before: string[] = []) => [...before, value]
      if (field.kind === 'list') command.option(field.flag, about, collect)
      else if (field.required) command.requiredOption(field.flag, about)
      else command.option(field.flag, about)
    }
    if (verb.inProject)
      command
        .option('-p, --project <project>', "id, slug or key; the linked folder's unless told")
        .option('--all-projects', 'whatever this folder is linked to')
    command
      .option('--profile <name>', 'which of your sign-ins to use')
      .option('--server <address>', 'the same, by the address of the server')
      .option('--json', 'print JSON')
    if (verb.examples) command.addHelpText('after', `\nExamples:\n${verb.examples.map((e) => `  $ tutti ${e}`).join('\n')}`)
    command.action((...given: unknown[]) => run(verb, given))
  }
}

interface Options extends Where {
  json?: boolean
  project?: string
  allProjects?: boolean
  [option: string]: unknown
}

async function run(verb: Verb, given: unknown[]): Promise<void> {
  const command = given.at(-1) as Command
  const options = command.opts<Options>()
  const args = await Promise.all((given.slice(0, -2) as (string | string[] | undefined)[]).flat().map((arg) => input(arg)))
  const { client } = signedInClient(options)
  const fields: Record<string, unknown> = {}
  for (const field of verb.fields ?? []) {
    const name = optionName(field.flag)
    if (options[name] !== undefined) fields[field.as ?? name] = await read(field, options[name])
  }
  if (verb.name === 'update' && Object.keys(fields).length === 0) throw new Refusal('Nothing to change. See --help for what can be.')
  const project = async () => options.project ?? (options.allProjects ? undefined : linkedProject(client.server)?.project)
  const needProject = async () => {
    const named = await project()
    if (!named) throw new Refusal('Which project? Name it with --project, or link this folder to one: tutti link <project>')
    return named
  }
  const shown = await verb.run({ client, args: args.filter((arg) => arg !== undefined), fields, project, needProject })
  for (const line of options.json ? [JSON.stringify(shown.value, null, 2)] : shown.lines) console.log(line)
}

const optionOf = (flag: string): string => flag.replace(/^.*(--[\w-]+).*$/, '$1')
const optionName = (flag: string): string =>
  flag.replace(/^.*--([\w-]+).*$/, '$1').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

let piped: Promise<string> | undefined
/** `-` stands for standard input, once. */
export async function input(value: string | undefined): Promise<string | undefined> {
  if (value !== '-') return value
  if (piped) throw new Refusal('Only one value can come from standard input.')
  piped = Bun.stdin.text()
  return (await piped).replace(/\r?\n$/, '')
}

async function read({ flag: written, kind }: Field, value: unknown): Promise<unknown> {
  if (kind === 'flag') return true
  if (kind === 'list') {
    const values: unknown[] = []
    for (const one of value as string[]) values.push(await input(one))
    return values
  }
  const given = (await input(String(value))) as string
  if (kind === 'number') {
    if (!/^-?\d+(\.\d+)?$/.test(given)) throw new Refusal(`${optionOf(written)} takes a number, not ${given.slice(0, 40)}`)
    return Number(given)
  }
  if (kind === 'time') {
    if (Number.isNaN(Date.parse(given))) throw new Refusal(`${optionOf(written)} takes a time, such as 2027-01-31 or 2027-01-31T12:00:00Z`)
    return new Date(given).toISOString()
  }
  if (kind !== 'json') return given
  try {
    return JSON.parse(given)
  } catch {
    throw new Refusal(`${optionOf(written)} takes JSON`)
  }
}

// ---- what most nouns do alike

export const at = (path: string, ...refs: (string | undefined)[]): string =>
  path.replace(/:\w+/g, () => encodeURIComponent(refs.shift() ?? ''))

export function query(path: string, values: Record<string, unknown>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) search.set(name, String(value))
  return search.size > 0 ? `${path}?${search}` : path
}

export interface Page<T> {
  items: T[]
  nextCursor: string | null
  total?: number
}

export const paging: Field[] = [
  count('-n, --limit <number>', 'at most so many; 50 unless told'),
  text('--cursor <cursor>', 'go on where an earlier list ended'),
]

export function listed<T>(page: Page<T>, columns: Column<T>[], none: string): Shown {
  const more = page.nextCursor ? ['', `More: --cursor ${page.nextCursor}`] : []
  return { value: page, lines: page.items.length === 0 ? [none] : [...table(page.items, columns), ...more] }
}

export const shown = (value: unknown, ...lines: (string | undefined)[]): Shown => ({
  value,
  lines: lines.filter((line): line is string => line !== undefined),
})
export { record }

/** List, show, create, update and delete of a plain resource; what it can do beyond that, its noun adds. */
export function plainVerbs<Item, One>(of: {
  path: string
  what: string
  /** The field that `create` takes as its argument. */
  name: string
  columns: Column<Item>[]
  show: (one: One) => string[]
  fields: Field[]
  filters: Field[]
  update?: 'PUT' | 'PATCH'
  remove?: true
  inProject?: true
  examples?: string[]
}): Verb[] {
  const { path, what } = of
  const one = (value: One): Shown => ({ value, lines: of.show(value) })
  const project = async (call: Call) => {
    const named = of.inProject && (await call.project())
    return named ? { projectId: await projectId(call.client, named) } : {}
  }
  return [
    {
      name: 'list',
      about: `List ${what}s`,
      aliases: ['ls'],
      inProject: of.inProject,
      fields: [...of.filters, ...paging],
      run: async (call) =>
        listed(await call.client.get<Page<Item>>(query(path, { ...call.fields, ...(await project(call)) })), of.columns, `No ${what}s.`),
    },
    {
      name: 'show',
      args: `<${what}>`,
      about: `Show one`,
      run: async ({ client, args }) => one(await client.get<One>(at(`${path}/:id`, ...args))),
    },
    {
      name: 'create',
      args: `<${of.name}>`,
      about: `Make one`,
      inProject: of.inProject,
      fields: of.fields,
      examples: of.examples,
      run: async (call) => one(await call.client.post<One>(path, { [of.name]: call.args[0], ...call.fields, ...(await project(call)) })),
    },
    {
      name: 'update',
      args: `<${what}>`,
      about: `Change one`,
      fields: [text(`--${of.name} <${of.name}>`, `a new ${of.name}`), ...of.fields.map(({ required: _, ...field }) => field)],
      run: async ({ client, args, fields }) => one(await client.request<One>(of.update ?? 'PATCH', at(`${path}/:id`, ...args), fields)),
    },
    ...(of.remove
      ? [
          {
            name: 'delete',
            args: `<${what}>`,
            about: `Delete one`,
            run: async ({ client, args }: Call) => shown(await client.request('DELETE', at(`${path}/:id`, ...args)), `Deleted ${args[0]}.`),
          } satisfies Verb,
        ]
      : []),
  ]
}

/** Of what a user has few of, and the API knows by id alone: found among them by name, slug or the beginning of the id. */
export async function amongMine(client: Client, path: string, what: string, ref: string): Promise<string> {
  if (uuid.test(ref)) return ref
  const { items } = await client.get<Page<{ id: string; name: string; slug?: string }>>(`${path}?limit=200`)
  const found = [
    items.filter(({ name, slug }) => name === ref || slug === ref),
    items.filter(({ id }) => ref.length >= 8 && id.startsWith(ref.toLowerCase())),
  ].find((some) => some.length > 0)
  if (!found?.[0]) throw new Refusal(`No ${what} "${ref}" among yours.`, 4)
  if (found.length > 1) throw new Refusal(`${found.length} ${what}s are called "${ref}". Name it by its id.`, 5)
  return found[0].id
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Filters take ids; people name projects by slug or key. */
export async function projectId(client: Client, ref: string): Promise<string> {
  if (uuid.test(ref)) return ref
  return (await client.get<{ id: string }>(at('/api/projects/:slug', ref))).id
}
