import type { Ctx } from '../action.ts'
import { recordNames } from '../records/names.ts'
import { isId } from '../records/reference.ts'
import { type RecordNames, shortNames } from '../records/short-names.ts'

type Fields = Record<string, unknown>
type Found = Map<string, Set<string>>

/** What a tool is about, where its name does not end with the name of a kind. */
const others: Record<string, string> = {
  memories: 'memory',
  activities: 'activity',
  repo: 'repository',
  review: 'feature',
}
/** Returns the kind of record that a tool returns: `list_tasks` returns tasks. */
function toolKind(tool: string): string {
  const noun = tool.slice(tool.indexOf('_') + 1)
  const one = noun.endsWith('s') && !(noun in others) ? noun.slice(0, -1) : noun
  return others[one] ?? one
}

/** Fields whose value is the id of a record of the same kind. */
const sameKind = new Set(['id', 'supersedes', 'supersededById', 'similar'])
/** Lists of ids. */
const lists: Record<string, string> = { taskIds: 'task', skills: 'skill' }

/** Returns the kind of record that a field refers to, if it refers to one. */
function kindOfField(name: string, of: string, { scope }: Fields): string | undefined {
  if (sameKind.has(name)) return of
  if (name === 'scopeId') return typeof scope === 'string' ? scope : undefined
  return lists[name] ?? (name.endsWith('Id') ? name.slice(0, -2) : name)
}

const kinds: ReadonlySet<unknown> = new Set(recordNames)
const isKind = (value: unknown): value is string => kinds.has(value)

/** Finds the ids in a result, by the kind of their record. Ids of other things stay as they are. */
function collectIdsByKind(value: unknown, kind: string, found: Found): void {
  if (Array.isArray(value)) {
    for (const item of value) collectIdsByKind(item, kind, found)
    return
  }
  if (typeof value !== 'object' || value === null) return
  const fields = value as Fields
  // Search results of several kinds have `kind`. The `kind` of a feature means something else.
  const own = kind !== 'feature' && isKind(fields.kind) ? fields.kind : kind
  // A record that has a key or slug is called by it. The key of a task also tells its project.
  const named = typeof fields.key === 'string' || typeof fields.slug === 'string'
  for (const name in fields) {
    const field = fields[name]
    if (typeof field === 'object' && field !== null) collectIdsByKind(field, kindOfPart(name, own), found)
    if (!mayHoldIds(field)) continue
    const called = (named && name === 'id') || (fields.key && name === 'projectId')
    if (!called) collectIds(field, kindOfField(name, own, fields), found)
  }
}

/** A quick test, because most fields contain neither an id nor a list. */
const mayHoldIds = (field: unknown): boolean =>
  typeof field === 'string'
    ? field.length >= ID_LENGTH && field.includes('-')
    : Array.isArray(field) && field.length > 0

function collectIds(field: unknown, kind: string | undefined, found: Found): void {
  if (!kind) return
  if (Array.isArray(field)) for (const item of field.flat()) addId(item, kind, found)
  else addId(field, kind, found)
}

function addId(id: unknown, kind: string, found: Found): void {
  if (typeof id !== 'string' || id.length < ID_LENGTH || !isId(id)) return
  const ids = found.get(kind)
  if (ids) ids.add(id)
  else found.set(kind, new Set([id]))
}

const ID_LENGTH = 36

/** Kinds by the names of parts. Bounded, because users choose the names in what they store as JSON. */
const kindsOfParts = new Map<string, string>()
const MOST_PARTS = 1000

/** A part such as `memories` or `recentMemories` holds records of that kind; other parts are about the whole. */
function kindOfPart(name: string, whole: string): string {
  let kind = kindsOfParts.get(name)
  if (kind === undefined) {
    const noun = name.replace(/^[a-z]+(?=[A-Z])/, '').toLowerCase()
    kind = noun === 'items' || noun === 'similar' ? OF_WHOLE : toolKind(`get_${noun}`)
    if (kindsOfParts.size < MOST_PARTS) kindsOfParts.set(name, kind)
  }
  return kind === OF_WHOLE ? whole : kind
}
const OF_WHOLE = ''

/** Returns the names of all records that a result refers to by id. One query for each kind. */
export async function findRecordNames(ctx: Ctx, tool: string, answer: unknown): Promise<RecordNames> {
  const found: Found = new Map()
  collectIdsByKind(answer, toolKind(tool), found)
  const names = new Map<string, string>()
  for (const [kind, ids] of found) for (const [id, name] of await shortNames(ctx, kind, [...ids])) names.set(id, name)
  return names
}
