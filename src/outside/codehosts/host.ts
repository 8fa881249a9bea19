import { check, instant } from '../../schema.ts'
import { visibleText } from '../../text/text.ts'
import type { Client, Manners } from './client.ts'
import { named } from './places.ts'
import type { Commit, Hosted, Pull } from './schema.ts'

/** What a provider can do; one file each. Whatever it is told is looked at here or there before anybody else sees it. */
export interface HostProvider extends Manners {
  /** Those that the token reaches, last changed first; a hundred at most. */
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

export interface NewPull {
  title: string
  head: string
  base: string
  description: string
}

/** A file as it is in a branch; `id` names this state of it where the provider wants to know what is replaced. */
export interface RemoteFile {
  content: string
  id: string
}

export interface RemoteRepository {
  facts(): Promise<Facts>
  /** By name, two hundred at most. */
  branches(): Promise<string[]>
  /** Of a branch, or by its sha; undefined: there is none. */
  commit(ref: string): Promise<Commit | undefined>
  /** Open ones, newest first, fifty at most. */
  pulls(): Promise<Pull[]>
  /** Whether there is one of this number, open or not. */
  hasPull(number: number): Promise<boolean>
  /** Whether this run of checks went well. */
  passed(run: number): Promise<boolean>
  /** The open one from this head to this base is as good as a new one. */
  open(pull: NewPull): Promise<{ pull: Pull; existed: boolean }>
  askReviewers(number: number, reviewers: readonly string[]): Promise<void>
  /** One that exists stays as it is. */
  branch(name: string, from: string): Promise<void>
  file(path: string, ref: string): Promise<RemoteFile | undefined>
  put(path: string, content: string, to: { branch: string; message: string; replaces?: RemoteFile }): Promise<void>
}

// ---- taking answers apart

export type Fields = Record<string, unknown>
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}
/** No page that we ask for is longer. */
const PAGE = 100
export const listOf = (client: Client, value: unknown): Fields[] => {
  if (!Array.isArray(value)) throw client.garbled()
  return value.slice(0, PAGE).map(fieldsOf)
}

/** A text on one line, without what cannot be seen, at most so long; null for anything else. */
export function line(value: unknown, most: number): string | null {
  if (typeof value !== 'string') return null
  const clean = visibleText(value.slice(0, most * 4))
    .replace(/\s+/g, ' ')
    .trim()
  return clean === '' ? null : clean.slice(0, most)
}

/** A name is looked at as if somebody had typed it, and the address is made of it: one of theirs could lead anywhere. */
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
/** Anything that the database would take for another moment, or none, is no moment. */
export const momentOf = (value: unknown): string | null =>
  check(instant(), value).length === 0 ? new Date(value as string).toISOString() : null
export const linesOf = (value: unknown, most: number, length: number): string[] =>
  (Array.isArray(value) ? value : []).slice(0, most).flatMap((text) => line(text, length) ?? [])
