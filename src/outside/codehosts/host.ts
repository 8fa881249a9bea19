import { check } from '../../check.ts'
import { instant } from '../../schema.ts'
import { visibleText } from '../../text/text.ts'
import type { ClientOptions, CodeHostClient, HostResponse } from './client.ts'
import { isSafePath, parseRepository } from './host-address.ts'
import type { Commit, Hosted, Pull } from './schema.ts'

/** What a provider can do; one file each. Everything a host returns is checked here or there before it is used. */
export interface HostProvider extends ClientOptions {
  /** Repositories that the token can access, last changed first; at most 100. */
  listRepositories(client: CodeHostClient): Promise<Hosted[]>
  openRepository(client: CodeHostClient, slug: Slug): RemoteRepository
}

export interface Slug {
  owner: string
  name: string
}

interface RepositoryFacts extends Omit<Hosted, 'provider'> {
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
  facts(): Promise<RepositoryFacts>
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
export interface RepositoryTarget {
  client: CodeHostClient
  slug: Slug
  /** The path of the repository; `get` takes paths below it. */
  root: string
  get(path: string, allow?: number[]): Promise<HostResponse>
}

export const repositoryTarget = (client: CodeHostClient, slug: Slug, root: string): RepositoryTarget => ({
  client,
  slug,
  root,
  get: (path, allow) => client.ask('GET', `${root}${path}`, { allow }),
})

/** Returns an issue; the path of its page is known, because an address from the host could lead anywhere. */
export const readIssue = (
  { client, slug: { owner, name } }: RepositoryTarget,
  path: string,
  row: Fields,
  by: Fields,
): RemoteIssue => {
  const number = readNumber(client, row.iid ?? row.number)
  const labels = Array.isArray(row.labels) ? row.labels.map((one) => fieldsOf(one).name ?? one) : []
  return {
    number,
    title: cleanLine(row.title, 500) ?? '',
    state: row.state === 'closed' ? 'closed' : 'open',
    labels: cleanLines(labels, 50, 100),
    author: cleanLine(by.login ?? by.username, 100),
    updatedAt: readTime(row.updated_at),
    url: `${client.place.base}/${owner}/${name}/${path}/${number}`,
  }
}

// ---- reading responses

export type Fields = Record<string, unknown>
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}
/** The longest page we request. */
const PAGE = 100
export const readList = (client: CodeHostClient, value: unknown): Fields[] => {
  if (!Array.isArray(value)) throw client.invalidResponse()
  return value.slice(0, PAGE).map(fieldsOf)
}

/** Returns a text on one line, without invisible characters, cut to a length; null for anything else. */
export function cleanLine(value: unknown, most: number): string | null {
  if (typeof value !== 'string') return null
  const clean = visibleText(value.slice(0, most * 4))
    .replace(/\s+/g, ' ')
    .trim()
  return clean === '' ? null : clean.slice(0, most)
}

/** Checks the name like user input, and builds the address from it: an address from the host could lead anywhere. */
export function readRepository(
  client: CodeHostClient,
  fullName: unknown,
  rest: { private: boolean; defaultBranch: unknown },
): Hosted {
  const { place } = client
  try {
    const { owner, name } = parseRepository(String(fullName), [], place)
    const url = `${place.base}/${owner}/${name}`
    return {
      provider: place.provider,
      owner,
      name,
      url,
      private: rest.private,
      defaultBranch: cleanLine(rest.defaultBranch, 250),
    }
  } catch {
    throw client.invalidResponse()
  }
}

/** Returns a plain file of a listing; nothing for folders, and for paths that no file of ours may have. */
export function readTreeFile({ path, type, size }: Fields): TreeFile[] {
  if (typeof path !== 'string' || type !== 'blob' || !isSafePath(path)) return []
  return [{ path, size: Number.isSafeInteger(size) ? (size as number) : null }]
}

export const requireValue = <T>(client: CodeHostClient, value: T | null | undefined): T => {
  if (value === null || value === undefined) throw client.invalidResponse()
  return value
}
export const readNumber = (client: CodeHostClient, value: unknown): number => {
  if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) >= 2 ** 31)
    throw client.invalidResponse()
  return value as number
}
export const readSha = (client: CodeHostClient, value: unknown): string => {
  if (typeof value !== 'string' || !/^[0-9a-f]{7,64}$/.test(value)) throw client.invalidResponse()
  return value
}
/** Returns null for anything that the database would read as another time, or not at all. */
export const readTime = (value: unknown): string | null =>
  check(instant(), value).length === 0 ? new Date(value as string).toISOString() : null
export const cleanLines = (value: unknown, most: number, length: number): string[] =>
  (Array.isArray(value) ? value : []).slice(0, most).flatMap((text) => cleanLine(text, length) ?? [])
