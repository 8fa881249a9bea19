import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { AppError, invalid } from '../../errors.ts'
import type { RemoteRepository, TreeFile } from '../../outside/codehosts/host.ts'
import { openRemote } from '../repositories/remote.ts'
import { type Row, remoteReference } from '../repositories/rows.ts'
import { embedQuery } from '../search/hybrid.ts'
import type { Material } from './sources.ts'

/** Limits of the files that are read for an answer without a tool call. */
const MOST_FILES = 8
const MOST_BYTES = 64 << 10
const PASSAGE_LINES = 60
const READ_LINES = 200
/** Passages that are compared by meaning; they are preselected by words. */
const COMPARED = 24
const KEEP_MS = 600_000
const MOST_KEPT = 40

interface CachedTree {
  until: number
  tree: readonly TreeFile[]
  texts: Map<string, string | undefined>
}

/** Cache of trees and files by user, repository and commit, in memory only: each user reads with their own token. */
const treeCache = new Map<string, CachedTree>()

/** The files of a repository at its synced commit, read with the asker's own token. */
export interface OpenFiles {
  /** Returns passages that fit a question, of the files that it names and of those that seem to fit. */
  passages(question: string, paths: readonly string[], limit: number): Promise<Material[]>
  /** Returns lines of one file. */
  lines(path: string, from: number): Promise<Material>
}

/** Opens the repository. Throws 403 if the asker has saved no token for its host. */
export async function openFiles(ctx: Ctx, repository: Row): Promise<OpenFiles> {
  const { commitSha, id, organizationId } = repository
  if (!commitSha)
    throw new AppError('conflict', 'This repository has not been synced yet. Sync it first.', {
      next: [{ route: `POST /api/repos/${id}/sync`, command: `tutti repositories sync ${id}` }],
    })
  const { remote } = await openRemote(ctx, remoteReference(ctx, repository), true)
  const known = await cachedTree(ctx, `${userIdOf(ctx.actor)} ${id} ${commitSha}`, () => remote.tree(commitSha))
  return new RepositoryFiles(ctx, remote, known, commitSha, organizationId)
}

async function cachedTree(ctx: Ctx, key: string, read: () => Promise<TreeFile[]>): Promise<CachedTree> {
  const now = ctx.app.clock().getTime()
  const found = treeCache.get(key)
  if (found && found.until > now) return found
  const fresh = { until: now + KEEP_MS, tree: await read(), texts: new Map() }
  for (const [other, { until }] of treeCache) if (until <= now || treeCache.size >= MOST_KEPT) treeCache.delete(other)
  treeCache.set(key, fresh)
  return fresh
}

class RepositoryFiles implements OpenFiles {
  constructor(
    private readonly ctx: Ctx,
    private readonly remote: RemoteRepository,
    private readonly known: CachedTree,
    private readonly commit: string,
    private readonly organizationId: string,
  ) {}

  async passages(question: string, paths: readonly string[], limit: number): Promise<Material[]> {
    for (const path of paths)
      if (!this.#has(path)) throw invalid('/paths', `${JSON.stringify(path)} is not a file of this repository.`)
    const chosen = paths.length > 0 ? [...paths] : chooseFiles(this.known.tree, question)
    const texts = await Promise.all(chosen.map(async (path) => ({ path, text: await this.#text(path) })))
    const pieces = texts.flatMap(({ path, text }) => (text === undefined ? [] : piecesOf(path, text)))
    return (await this.#ranked(question, pieces)).slice(0, limit).map((piece) => this.#material(piece))
  }

  async lines(path: string, from: number): Promise<Material> {
    const text = this.#has(path) ? await this.#text(path) : undefined
    if (text === undefined)
      throw new AppError('not_found', `${JSON.stringify(path)} is not a text file of this repository.`)
    const all = text.split('\n')
    if (from > all.length) throw new AppError('invalid', `The file has only ${all.length} lines.`)
    const to = Math.min(all.length, from + READ_LINES - 1)
    return this.#material({ path, from, to, text: all.slice(from - 1, to).join('\n') })
  }

  #has = (path: string): boolean => this.known.tree.some((file) => file.path === path)

  /** Returns undefined for a file that is too large or not plain text. */
  async #text(path: string): Promise<string | undefined> {
    if (this.known.texts.has(path)) return this.known.texts.get(path)
    const size = this.known.tree.find((file) => file.path === path)?.size
    const found = size !== null && size !== undefined && size > MOST_BYTES ? undefined : await this.#read(path)
    this.known.texts.set(path, found)
    return found
  }

  async #read(path: string): Promise<string | undefined> {
    try {
      const content = (await this.remote.file(path, this.commit))?.content
      return content === undefined || content.length > MOST_BYTES || content.includes('\0') ? undefined : content
    } catch (error) {
      // A symbolic link or a submodule.
      if (error instanceof AppError && (error.code === 'conflict' || error.code === 'invalid')) return undefined
      throw error
    }
  }

  async #ranked(question: string, pieces: Piece[]): Promise<Piece[]> {
    const words = wordsOf(question)
    const byWords = pieces
      .map((piece) => ({ piece, score: shareOf(words, `${piece.path}\n${piece.text}`) }))
      .sort((a, b) => b.score - a.score)
    const near = byWords.slice(0, COMPARED)
    const vectors = await this.#meanings(
      question,
      near.map(({ piece }) => piece.text.slice(0, 2000)),
    )
    return near
      .map(({ piece, score }, i) => ({ piece, score: score + (vectors[i] ?? 0) }))
      .sort((a, b) => b.score - a.score)
      .map(({ piece }) => piece)
  }

  /** Returns the similarity of each text to the question, or an empty list if the embedding model does not answer. */
  async #meanings(question: string, texts: readonly string[]): Promise<number[]> {
    const { embedder, log } = this.ctx.app
    if (texts.length === 0 || !embedder.ready) return []
    const asked = await embedQuery(this.ctx, question.slice(0, 2000))
    if (asked?.model !== embedder.id) return []
    try {
      const vectors = await embedder.embed(texts, { signal: this.ctx.signal, urgent: true })
      return vectors.map((vector) => vector.reduce((sum, x, i) => sum + x * (asked.values[i] ?? 0), 0))
    } catch (error) {
      log.warn('files not compared by meaning', { error })
      return []
    }
  }

  #material({ path, from, to, text }: Piece): Material {
    return {
      source: {
        kind: 'file',
        id: null,
        title: path.slice(0, 1000),
        path,
        organizationId: this.organizationId,
        commit: this.commit,
        lines: `${from}-${to}`,
        url: this.remote.fileUrl(path, this.commit, from, to),
      },
      text,
      author: null,
      isOwn: false,
      updatedAt: null,
    }
  }
}

interface Piece {
  path: string
  from: number
  to: number
  text: string
}

/** Cuts a file into passages. */
function piecesOf(path: string, text: string): Piece[] {
  const lines = text.split('\n')
  const pieces: Piece[] = []
  for (let first = 0; first < lines.length; first += PASSAGE_LINES) {
    const some = lines.slice(first, first + PASSAGE_LINES)
    if (some.some((line) => line.trim() !== ''))
      pieces.push({ path, from: first + 1, to: first + some.length, text: some.join('\n') })
  }
  return pieces
}

const wordsOf = (text: string): Set<string> =>
  new Set(
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}]{3,40}/gu)
      ?.slice(0, 60),
  )

/** Returns the share of the words that the text contains. */
function shareOf(words: ReadonlySet<string>, text: string): number {
  if (words.size === 0) return 0
  const lower = text.toLowerCase()
  let found = 0
  for (const word of words) if (lower.includes(word)) found++
  return found / words.size
}

const guides = /(^|\/)(readme|agents)(\.[a-z]+)?$/i

/** Returns the files to read: those that the question names, the guides at the top, and the best by their paths. */
function chooseFiles(tree: readonly TreeFile[], question: string): string[] {
  const words = wordsOf(question)
  const lower = question.toLowerCase()
  const scored = tree
    .filter(({ size }) => size === null || size <= MOST_BYTES)
    .map(({ path }) => {
      const name = path.toLowerCase()
      const isNamed = lower.includes(name) || (name.includes('/') && lower.includes(name.split('/').at(-1) as string))
      const isGuide = guides.test(path) && !path.includes('/')
      const parts = wordsOf(name.replace(/([a-z])([A-Z])/g, '$1 $2'))
      const fits = [...words].filter((word) => parts.has(word)).length
      return { path, score: (isNamed ? 100 : 0) + (isGuide ? 50 : 0) + fits }
    })
    .filter(({ score }) => score > 0)
  return scored
    .sort((a, b) => b.score - a.score || a.path.length - b.path.length)
    .slice(0, MOST_FILES)
    .map(({ path }) => path)
}
