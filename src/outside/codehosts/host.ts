import { check } from '../../check.ts'
import { instant } from '../../schema.ts'
import { visibleText } from '../../text/text.ts'
import type { Answer, Client, Manners } from './client.ts'
import { isFileName, named } from './host-address.ts'
import type { Commit, Hosted, Pull } from './schema.ts'

/** What a provider can do; one file each. Everything a host returns is checked here or there before it is used. */
export interface HostProvider extends Manners {
  /** Repositories that the token can access, last changed first; at most 100. */
  mine(client: Client): Promise<Hosted[]>
  at(client: Client, slug: Slug): RemoteRepository
}

export interface Slug {
  owner: string
  name: string
}

export interface Facts extends Omit<Hosted, 'provider'> {
  language: string | null
  topics: string[]
}

interface NewPull {
  title: string
  head: string
  base: string
  description: string
}

/** A file in a branch. `id` identifies its present state, if the provider needs it to replace the file. */
interface RemoteFile {
  content: string
  id: string
}

export interface RemoteRepository extends RemoteSource, RemotePulls, RemoteFiles {}

export interface RemoteSource {
  facts(): Promise<Facts>
  /** Sorted by name, at most 200. */
  branches(): Promise<string[]>
  /** The latest commit of a branch, or the one with this sha; undefined if there is none. */
  commit(ref: string): Promise<Commit | undefined>
  /** A page of all issues, those that were not changed for longest first; pull requests are left out. */
  issues(which: { page: number; since?: string }): Promise<{ items: RemoteIssue[]; more: boolean }>
  /**
   * The result of the CI run with the number in its address; undefined if there is no such run. A run that was
   * cancelled or skipped has failed.
   */
  run(id: number): Promise<RunResult | undefined>
}

/** `unfinished`: it has no result yet, or the host cannot be asked for it by this number. */
type RunResult = 'passed' | 'failed' | 'unfinished'

export interface RemoteIssue {
  number: number
  title: string
  state: 'open' | 'closed'
  labels: string[]
  author: string | null
  updatedAt: string | null
  url: string
}

export interface RemotePulls {
  /** Open pull requests, newest first, at most 50. */
  pulls(): Promise<Pull[]>
  /** Whether a pull request with this number exists, open or not. */
  hasPull(number: number): Promise<boolean>
  /** Opens a pull request, or returns the open one with this head and base. */
  open(pull: NewPull): Promise<{ pull: Pull; existed: boolean }>
  askReviewers(number: number, reviewers: readonly string[]): Promise<void>
}

/** A file of a commit. `size` in bytes, where the provider says it. */
export interface TreeFile {
  path: string
  size: number | null
}

/** Paths of a commit that are read at most. */
export const MOST_PATHS = 5000

export interface RemoteFiles {
  /** The plain files of a commit, at most 5,000. */
  tree(ref: string): Promise<TreeFile[]>
  /** The address of some lines of a file, for people. */
  fileUrl(path: string, ref: string, from: number, to: number): string
  /** Creates a branch; keeps an existing one as it is. */
  branch(name: string, from: string): Promise<void>
  file(path: string, ref: string): Promise<RemoteFile | undefined>
  put(path: string, content: string, to: { branch: string; message: string; replaces?: RemoteFile }): Promise<void>
}

/** A repository as its host's API addresses it. */
export interface Target {
  client: Client
  slug: Slug
  /** The path of the repository; `get` takes paths below it. */
  root: string
  get(path: string, allow?: number[]): Promise<Answer>
}

export const targetOf = (client: Client, slug: Slug, root: string): Target => ({
  client,
  slug,
  root,
  get: (path, allow) => client.ask('GET', `${root}${path}`, { allow }),
})

/** Returns an issue; the path of its page is known, because an address from the host could lead anywhere. */
export const issueFrom = (
  { client, slug: { owner, name } }: Target,
  path: string,
  row: Fields,
  by: Fields,
): RemoteIssue => {
  const number = numberOf(client, row.iid ?? row.number)
  const labels = Array.isArray(row.labels) ? row.labels.map((one) => fieldsOf(one).name ?? one) : []
  return {
    number,
    title: line(row.title, 500) ?? '',
    state: row.state === 'closed' ? 'closed' : 'open',
    labels: linesOf(labels, 50, 100),
    author: line(by.login ?? by.username, 100),
    updatedAt: momentOf(row.updated_at),
    url: `${client.place.base}/${owner}/${name}/${path}/${number}`,
  }
}

// ---- reading responses

export type Fields = Record<string, unknown>
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}
/** The longest page we request. */
const PAGE = 100
export const listOf = (client: Client, value: unknown): Fields[] => {
  if (!Array.isArray(value)) throw client.garbled()
  return value.slice(0, PAGE).map(fieldsOf)
}

/** Returns a text on one line, without invisible characters, cut to a length; null for anything else. */
export function line(value: unknown, most: number): string | null {
  if (typeof value !== 'string') return null
  const clean = visibleText(value.slice(0, most * 4))
    .replace(/\s+/g, ' ')
    .trim()
  return clean === '' ? null : clean.slice(0, most)
}

/** Checks the name like user input, and builds the address from it: an address from the host could lead anywhere. */
export function hostedOf(
  client: Client,
  fullName: unknown,
  rest: { private: boolean; defaultBranch: unknown },
): Hosted {
  const { place } = client
  try {
    const { owner, name } = named(String(fullName), [], place)
    const url = `${place.base}/${owner}/${name}`
    return {
      provider: place.provider,
      owner,
      name,
      url,
      private: rest.private,
      defaultBranch: line(rest.defaultBranch, 250),
    }
  } catch {
    throw client.garbled()
  }
}

/** Returns a plain file of a listing; nothing for folders, and for paths that no file of ours may have. */
export function treeFile({ path, type, size }: Fields): TreeFile[] {
  if (typeof path !== 'string' || type !== 'blob' || !isFileName(path)) return []
  return [{ path, size: Number.isSafeInteger(size) ? (size as number) : null }]
}

export const needed = <T>(client: Client, value: T | null | undefined): T => {
  if (value === null || value === undefined) throw client.garbled()
  return value
}
export const numberOf = (client: Client, value: unknown): number => {
  if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) >= 2 ** 31) throw client.garbled()
  return value as number
}
export const shaOf = (client: Client, value: unknown): string => {
  if (typeof value !== 'string' || !/^[0-9a-f]{7,64}$/.test(value)) throw client.garbled()
  return value
}
/** Returns null for anything that the database would read as another time, or not at all. */
export const momentOf = (value: unknown): string | null =>
  check(instant(), value).length === 0 ? new Date(value as string).toISOString() : null
export const linesOf = (value: unknown, most: number, length: number): string[] =>
  (Array.isArray(value) ? value : []).slice(0, most).flatMap((text) => line(text, length) ?? [])
