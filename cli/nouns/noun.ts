import { type Command, Option } from 'commander'
import { kindInfo, offlineNames } from '../../src/records/names.ts'
import type { Client } from '../api/client.ts'
import { withHints } from '../api/hints.ts'
import { linkedProject, type ProjectLink } from '../api/project-link.ts'
import { findId, findProjectId } from '../api/reference.ts'
import { OFFLINE_OPTION, type WhereOrOffline, workingClient } from '../copy/client.ts'
import { formatExamples } from '../examples.ts'
import { printNote, printResult } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { parseInstant } from '../terminal/times.ts'

/** How the value of an option is converted for the API. */
type FieldKind = 'text' | 'list' | 'number' | 'flag' | 'json' | 'time' | 'reference'

export interface Field {
  /** In commander's notation: `-t, --title <text>`. */
  flag: string
  about: string
  /** Name in the API (default: the option's name). */
  as?: string
  kind?: FieldKind
  required?: true
  /** Whether `none` clears the value: when a record is updated, or with every verb. */
  clears?: 'on update' | 'always'
  /** For a list: an update leaves the values that it does not name. */
  keeps?: true
  /** For a reference: the path of the list it refers to, such as /api/tasks. */
  among?: string
  /** Values that completion offers. The server checks the value, so that it may know more of them. */
  choices?: readonly string[]
}

export interface Call {
  client: Client
  args: string[]
  /** Values of the options that were given, by their names in the API. */
  fields: Record<string, unknown>
  /** Returns the project that --project or the linked folder names. */
  project(): Promise<string | undefined>
  /** Returns the project of the linked folder, if the options did not choose one. */
  impliedProject(): ProjectLink | undefined
  /** Returns that project; throws without one. */
  needProject(): Promise<string>
  /** Returns that project's id as a filter or field. */
  inProject(): Promise<{ projectId?: string }>
}

export interface CommandOutput {
  /** Printed with `--json`. */
  value: unknown
  lines: string[]
  /** A remark about the result, printed to standard error. */
  note?: string
}

export interface Verb {
  name: string
  about: string
  /** In commander's notation: `<task> [words...]`. */
  args?: string
  fields?: Field[]
  /** Takes --project (default: the linked folder's project). */
  inProject?: true
  /** Complete command lines. */
  examples: string[]
  aliases?: string[]
  /** Only the server can do it, so there is no --offline. */
  online?: true
  run(call: Call): Promise<CommandOutput>
}

export const text = (flag: string, about: string, more: Partial<Field> = {}): Field => ({ flag, about, ...more })
/** Returns an option whose description lists its values: `low, medium or high (default: low)`. */
export const choice = (flag: string, choices: readonly string[], fallback?: string): Field => ({
  flag,
  about: `${eitherOf(choices)}${fallback ? ` (default: ${fallback})` : ''}`,
  choices,
})
export const eitherOf = (words: readonly string[]): string => words.join(', ').replace(/, (?=[^,]*$)/, ' or ')
export const many = (flag: string, about: string, as?: string): Field => ({ flag, about, kind: 'list', as })
/** A list whose values are added to a record or removed from it; its other values stay. */
export const listChange = (flag: string, about: string, as: string): Field => ({
  ...many(flag, about, as),
  keeps: true,
})
export const count = (flag: string, about: string, as?: string): Field => ({ flag, about, kind: 'number', as })
export const flag = (flag: string, about: string, as?: string): Field => ({ flag, about, kind: 'flag', as })
export const time = (flag: string, about: string, as?: string): Field => ({
  flag,
  about: `${about}, such as 2027-01-31, fri or +3d`,
  kind: 'time',
  as,
})
export const json = (flag: string, about: string, as?: string): Field => ({ flag, about, kind: 'json', as })
export const reference = (flag: string, about: string, among: string, as: string): Field => ({
  flag,
  about,
  kind: 'reference',
  among,
  as,
})
/** Marks a field that may be empty: `none` clears it. */
export const clearable = (field: Field): Field => ({ ...field, clears: 'on update' })

export function addVerbs(noun: Command, verbs: readonly Verb[]): void {
  for (const verb of verbs) {
    const command = noun.command(`${verb.name}${verb.args ? ` ${verb.args}` : ''}`).description(verb.about)
    for (const alias of verb.aliases ?? []) command.alias(alias)
    for (const field of verb.fields ?? []) command.addOption(optionFor(field, verb))
    if (verb.inProject)
      command
        .option('-p, --project <project>', "id, slug or key (default: the linked folder's project)")
        .option('--all-projects', 'ignore the project that this folder is linked to')
    command
      .option('--profile <name>', 'profile to use (see: tutti profiles)')
      .option('--server <address>', 'profile to use, by the address of its server')
    if (offlineNouns.has(noun.name()) && !verb.online) command.option('--offline', OFFLINE_OPTION)
    command.option('--json', 'print JSON')
    command.addHelpText('after', formatExamples(verb.examples))
    command.action((...given: unknown[]) => runVerb(verb, given))
  }
  noun.addHelpText('after', formatExamples(verbs.flatMap((verb) => verb.examples.slice(0, 1)).slice(0, 4)))
}

/** The nouns that also work with the copy on this computer. */
const offlineNouns = new Set(offlineNames.map((name) => kindInfo(name).noun))

function optionFor(field: Field, verb: Verb): Option {
  const option = new Option(field.flag, aboutOf(field, verb)).makeOptionMandatory(field.required ?? false)
  if (field.kind === 'list') option.argParser((value: string, before: string[] = []) => [...before, value])
  // Without `choices()`, which would refuse `none`, `-` and the values of a newer server.
  if (field.choices) option.argChoices = [...field.choices]
  return option
}

function aboutOf({ kind, about, clears, keeps }: Field, verb: Verb): string {
  const replaces = verb.name === 'update' && !keeps
  if (kind === 'list') return `${about} (repeatable${replaces ? '; replaces all existing ones' : ''})`
  return clears && verb.name === 'update' ? `${about}; "none" clears it` : about
}

interface Options extends WhereOrOffline {
  json?: boolean
  project?: string
  allProjects?: boolean
  [option: string]: unknown
}

async function runVerb(verb: Verb, given: unknown[]): Promise<void> {
  const command = given.at(-1) as Command
  const options = command.opts<Options>()
  const args = await Promise.all(
    (given.slice(0, -2) as (string | string[] | undefined)[]).flat().map((arg) => readValue(arg)),
  )
  const client = workingClient(options)
  const work = async (): Promise<CommandOutput> => {
    const fields: Record<string, unknown> = {}
    for (const field of verb.fields ?? []) {
      const name = optionName(field.flag)
      // A new record has no value to clear, so `none` is a text like any other.
      const clears = field.clears === 'always' || (field.clears !== undefined && verb.name === 'update')
      if (options[name] !== undefined)
        fields[field.as ?? name] = await convertValue(client, { ...field, clears }, options[name])
    }
    if (verb.name === 'update' && Object.keys(fields).length === 0)
      throw new Refusal('Nothing to change. Run with --help to see what can be changed.')
    const impliedProject = () =>
      options.project === undefined && !options.allProjects ? linkedProject(client.server) : undefined
    const project = async () => options.project ?? impliedProject()?.project
    const needProject = async () => {
      const named = await project()
      if (!named)
        throw new Refusal('No project given. Use --project, or link this folder to a project: tutti link <project>')
      return named
    }
    const inProject = async () => {
      const named = await project()
      return named ? { projectId: await findProjectId(client, named) } : {}
    }
    const words = args.filter((arg) => arg !== undefined)
    return verb.run({ client, args: words, fields, project, impliedProject, needProject, inProject })
  }
  const shown = await withHints(client, work)
  printResult(options.json, shown.value, ...shown.lines)
  if (shown.note && !options.json) printNote(shown.note)
}

export const optionOf = (flag: string): string => flag.replace(/^.*(--[\w-]+).*$/, '$1')
const optionName = (flag: string): string =>
  flag.replace(/^.*--([\w-]+).*$/, '$1').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

let standardInput: Promise<string> | undefined
/** Returns the value itself, or standard input for `-`, which can be read once. */
async function readValue(value: string | undefined): Promise<string | undefined> {
  if (value !== '-') return value
  if (standardInput) throw new Refusal('Only one value can be read from standard input.')
  standardInput = Bun.stdin.text()
  return (await standardInput).replace(/\r?\n$/, '')
}

interface Given extends Omit<Field, 'clears'> {
  clears?: boolean
}

async function convertValue(
  client: Client,
  { flag: written, kind, clears, among }: Given,
  value: unknown,
): Promise<unknown> {
  if (kind === 'flag') return true
  if (kind === 'list') {
    const values: unknown[] = []
    for (const one of value as string[]) values.push(await readValue(one))
    return values
  }
  const given = (await readValue(String(value))) as string
  if (clears && given === 'none') return null
  if (kind === 'reference') return findId(client, among as string, given)
  if (kind === 'number') {
    if (!/^-?\d+(\.\d+)?$/.test(given))
      throw new Refusal(`${optionOf(written)} must be a number, not ${given.slice(0, 40)}`)
    return Number(given)
  }
  if (kind === 'time') {
    const at = parseInstant(given)
    if (at === undefined)
      throw new Refusal(
        `${optionOf(written)} must be a date or time, such as 2027-01-31, 2027-01-31T12:00:00Z, fri or +3d`,
      )
    return at
  }
  if (kind !== 'json') return given
  try {
    return JSON.parse(given)
  } catch {
    throw new Refusal(`${optionOf(written)} must be valid JSON`)
  }
}

export const outputOf = (value: unknown, ...lines: (string | undefined)[]): CommandOutput => ({
  value,
  lines: lines.filter((line): line is string => line !== undefined),
})
