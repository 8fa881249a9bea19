import { AppError, notFound } from '../../../src/errors.ts'
import { ambiguousPrefix, isId, isIdPrefix } from '../../../src/records/reference.ts'
import type { UserOrAgent } from '../../../src/records/user-or-agent.ts'
import { wordsOf } from '../../../src/text/search-query.ts'
import type { Copy } from '../copy.ts'
import type { Fields, Row } from '../mutation.ts'

/** The user who works with the copy. */
export interface Person {
  id: string
  name: string
  email: string
}

export const asText = (value: unknown): string => (typeof value === 'string' ? value : '')
export const asTextOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
export const asList = <T = string>(value: unknown): T[] => (Array.isArray(value) ? (value as T[]) : [])

export const needsServer = (what: string): AppError =>
  new AppError('unavailable', `${what} without the server. Run the command again when the server can be reached.`)

/** The records of the copy that the user sees in their current team. All offline routes use it. */
export class CopyView {
  readonly #teams: ReadonlySet<string>

  constructor(
    readonly copy: Copy,
    readonly person: Person,
    readonly team: string | undefined,
    /** The MCP token that the call came with. */
    readonly via?: string,
  ) {
    this.#teams = new Set(copy.containers.filter((name) => name.startsWith('organization:')))
  }

  /**
   * Whether the record belongs to the current team, to no team, or to a team that shares a project with the user
   * without the user being a member.
   */
  isHere({ organizationId }: Row): boolean {
    // A token sees its own team only.
    if (this.via !== undefined) return organizationId === this.team
    if (typeof organizationId !== 'string' || this.team === undefined) return true
    return organizationId === this.team || !this.#teams.has(`organization:${organizationId}`)
  }

  all = (entity: string, where?: string, ...values: string[]): Row[] =>
    this.copy.list(entity, where, ...values).filter((row) => this.isHere(row))

  /** Finds a record by id, name or the unique beginning of its id, as the server does. */
  find(entity: string, ref: string, isNamed: (row: Row, ref: string) => boolean = () => false): Row {
    const given = ref.trim().toLowerCase()
    const local = this.copy.one<{ id: string }>('select id from names where name = ? and entity = ?', given, entity)
    if (local || isId(given)) {
      const row = this.copy.find(entity, local?.id ?? given)
      if (row && this.isHere(row)) return row
      throw notFound(entity, ref)
    }
    const rows = this.all(entity)
    const found = rows.find((row) => isNamed(row, given))
    if (found) return found
    const [first, second] = isIdPrefix(given) ? rows.filter(({ id }) => id.startsWith(given)) : []
    if (!first) throw notFound(entity, ref)
    if (second) throw ambiguousPrefix(given, first, second)
    return first
  }

  /** A project that the server has not seen has neither slug nor key, so it is found by its name. */
  project = (ref: string): Row =>
    this.find('project', ref, ({ slug, key, name }, given) =>
      slug ? slug === given || asText(key).toLowerCase() === given : asText(name).toLowerCase() === given,
    )

  /** Returns the id of the project in a filter or a field; undefined if there is none. */
  projectId = (ref: unknown): string | undefined =>
    typeof ref === 'string' && ref !== '' ? this.project(ref).id : undefined

  organization(): string {
    if (this.team === undefined)
      throw new AppError('unavailable', 'This copy does not know your team yet. Complete it with: tutti sync')
    return this.team
  }

  /** Returns a person or an agent. Only the names of agents, of authors and of the user are in the copy. */
  party(id: unknown, name?: unknown): UserOrAgent | null {
    if (typeof id !== 'string') return null
    const agent = this.copy.find('agent', id)
    const known = id === this.person.id ? this.person.name : agent?.name
    return { type: agent ? 'agent' : 'user', id, name: asText(name) || asText(known) || id.slice(0, 13) }
  }

  /** Returns the author of a record. One that the server has not seen yet is the user's own. */
  author = (row: Row): UserOrAgent =>
    this.party(row.authorId ?? row.createdById ?? this.person.id, row.authorName) as UserOrAgent

  create = (entity: string, fields: Fields): Row => this.copy.create(entity, definedFields(fields), this.via)
  update = (entity: string, id: string, fields: Fields): Row =>
    this.copy.update(entity, id, withoutUndefined(fields), this.via)
  remove = (entity: string, id: string): void => this.copy.remove(entity, id, this.via)
}

const withoutUndefined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** A new record has no fields to clear, so empty ones are left to the server's defaults. */
const definedFields = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))

/** The fields that every record has in a response of the API. */
export const commonFields = (row: Row) => ({
  id: row.id,
  createdAt: asText(row.createdAt),
  updatedAt: asText(row.updatedAt),
  version: Number(row.version ?? 0),
  createdById: asTextOrNull(row.createdById),
})

interface Page<T> {
  items: T[]
  nextCursor: string | null
  total: number
}

const CURSOR = 'offline-'
const DEFAULT_LIMIT = 50

/** Sorts a list and returns the requested page. The cursor is a position in the list. */
export function pageRows<T>(rows: Row[], query: URLSearchParams, shape: (row: Row) => T, sort = 'updatedAt'): Page<T> {
  const by = query.get('sort') ?? sort
  const order =
    (query.get('order') ?? (by === 'title' || by === 'name' || by === 'position' ? 'asc' : 'desc')) === 'asc'
  const sorted = rows.toSorted((a, b) => compareValues(a[by], b[by]) || compareValues(a.id, b.id))
  if (!order) sorted.reverse()
  const from = Number(query.get('cursor')?.slice(CURSOR.length) ?? 0)
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT)
  const items = sorted.slice(from, from + limit).map(shape)
  return { items, nextCursor: from + limit < rows.length ? `${CURSOR}${from + limit}` : null, total: rows.length }
}

const compareValues = (a: unknown, b: unknown): number =>
  typeof a === 'number' || typeof b === 'number'
    ? Number(a ?? 0) - Number(b ?? 0)
    : asText(a) < asText(b)
      ? -1
      : Number(asText(a) > asText(b))

/** Whether all words occur in the texts, as beginnings of words. */
export function hasWords(words: string | null, ...texts: unknown[]): boolean {
  if (!words) return true
  const all = texts.map(asText).join('\n').toLowerCase()
  return wordsOf(words).every((word) => all.includes(word))
}

// ---- routes

export interface LocalCall {
  world: CopyView
  /** The parts of the path that the route leaves open, in order. */
  params: string[]
  query: URLSearchParams
  body: Fields
}

export interface Route {
  method: string
  parts: readonly string[]
  run(call: LocalCall): object
}

/** `route('GET', '/api/notes/:id', …)` */
export const route = (method: string, path: string, run: (call: LocalCall) => object): Route => ({
  method,
  parts: path.split('/'),
  run,
})
