import { AppError } from '../../errors.ts'
import { ResponseTooLarge } from '../outbound.ts'
import type { CodeHostClient } from './client.ts'
import {
  cleanLine,
  cleanLines,
  type Fields,
  fieldsOf,
  type HostProvider,
  MOST_PATHS,
  type RemoteFiles,
  type RemotePulls,
  type RemoteRepository,
  type RemoteSource,
  type RepositoryTarget,
  readIssue,
  readList,
  readNumber,
  readRepository,
  readSha,
  readTime,
  readTreeFile,
  repositoryTarget,
  requireValue,
  type Slug,
  type TreeFile,
} from './host.ts'
import { requireSafePath } from './host-address.ts'
import type { Commit, Hosted, Pull } from './schema.ts'

/** What Gitea does differently; the rest of its API is like GitHub's. */
export interface Dialect {
  perPage: (count: number, page: number) => string
  pageSize: number
  pullPath: string
  commitPath: (ref: string) => string
  /** Finds an open pull request by its branches. */
  existing: (client: CodeHostClient, root: string, head: string, base: string) => Promise<unknown>
  makeBranch: (client: CodeHostClient, root: string, name: string, from: string) => Promise<void>
  /** The query for a page of all files of a commit. */
  treePage: (page: number) => string
  /** Where the pages of a commit's files begin, and how they name lines. */
  filePath: (path: string, ref: string, from: number, to: number) => string
  /** The method that creates a file. */
  createWith: 'POST' | 'PUT'
  /** Whether the API takes the number that is in the address of a CI run. */
  takesRunNumbers: boolean
}

const BRANCHES = 200
const MINE = 100
const PULLS = 50
export const encodePart = encodeURIComponent

const dialect: Dialect = {
  perPage: (count, page) => `per_page=${count}&page=${page}`,
  pageSize: 100,
  pullPath: 'pull',
  commitPath: (ref) => `/commits/${encodePart(ref)}`,
  async existing(client, root, head, base) {
    const owner = decodeURIComponent(root.split('/')[2] as string)
    const from = head.includes(':') ? head : `${owner}:${head}`
    const { body } = await client.ask(
      'GET',
      `${root}/pulls?state=open&head=${encodePart(from)}&base=${encodePart(base)}`,
    )
    return readList(client, body)[0]
  },
  async makeBranch(client, root, name, from) {
    const { body } = await client.ask('GET', `${root}/git/ref/heads/${encodePath(from)}`)
    const sha = readSha(client, fieldsOf(fieldsOf(body).object).sha)
    const made = await client.ask('POST', `${root}/git/refs`, {
      body: { ref: `refs/heads/${name}`, sha },
      allow: [422],
    })
    if (made.status === 422 && !/already exists/i.test(client.errorText(made)))
      throw new AppError('conflict', `The branch ${name} cannot be created: ${client.errorText(made)}.`)
  },
  treePage: () => 'recursive=1',
  filePath: (path, ref, from, to) => `blob/${encodePart(ref)}/${encodePath(path)}#L${from}-L${to}`,
  createWith: 'PUT',
  takesRunNumbers: true,
}

/** Keeps slashes, which branches and files contain. */
export const encodePath = (path: string): string => path.split('/').map(encodePart).join('/')

export const githubLike = (d: Dialect) => ({
  async listRepositories(client: CodeHostClient): Promise<Hosted[]> {
    const found: Hosted[] = []
    for (let page = 1; found.length < MINE; page++) {
      const { body } = await client.ask('GET', `/user/repos?sort=pushed&${d.perPage(d.pageSize, page)}`)
      const rows = readList(client, body)
      found.push(...rows.map((row) => githubRepository(client, row)))
      if (rows.length < d.pageSize) break
    }
    return found.slice(0, MINE)
  },
  openRepository: (client: CodeHostClient, slug: Slug): RemoteRepository => remote(client, slug, d),
})

export const github: HostProvider = {
  authorization: (token) => ({ authorization: `Bearer ${token}` }),
  headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
  scopes: 'the scope repo (classic), or read and write of contents and pull requests (fine-grained)',
  ...githubLike(dialect),
}

const githubRepository = (client: CodeHostClient, row: Fields): Hosted =>
  readRepository(client, row.full_name, { private: row.private === true, defaultBranch: row.default_branch })

function remote(client: CodeHostClient, slug: Slug, d: Dialect): RemoteRepository {
  const target = repositoryTarget(client, slug, `/repos/${encodePart(slug.owner)}/${encodePart(slug.name)}`)
  return { ...source(target, d), ...pullRequests(target, d), ...files(target, d) }
}

const source = (target: RepositoryTarget, d: Dialect): RemoteSource => ({
  ...sourceOf(target, d),
  async issues({ page, since }) {
    const { client, get } = target
    const from = since ? `&since=${encodePart(since)}` : ''
    const asked = `state=all&type=issues&sort=updated&direction=asc&${d.perPage(d.pageSize, page)}${from}`
    const rows = readList(client, (await get(`/issues?${asked}`)).body)
    const items = rows.filter((row) => !row.pull_request)
    return {
      items: items.map((row) => readIssue(target, 'issues', row, fieldsOf(row.user))),
      more: rows.length === d.pageSize,
    }
  },
})

const sourceOf = ({ client, get }: RepositoryTarget, d: Dialect): Omit<RemoteSource, 'issues'> => ({
  async facts() {
    const { body } = await get('')
    const row = fieldsOf(body)
    return {
      ...githubRepository(client, row),
      language: cleanLine(row.language, 50),
      topics: cleanLines(row.topics, 50, 50),
    }
  },
  async branches() {
    const names: string[] = []
    for (let page = 1; names.length < BRANCHES; page++) {
      const rows = readList(client, (await get(`/branches?${d.perPage(d.pageSize, page)}`)).body)
      names.push(...rows.map((row) => requireValue(client, cleanLine(row.name, 250))))
      if (rows.length < d.pageSize) break
    }
    return names.slice(0, BRANCHES)
  },
  async commit(ref): Promise<Commit | undefined> {
    const { status, body } = await get(d.commitPath(ref), [404, 409, 422])
    if (status >= 300) return undefined
    const { sha, commit } = fieldsOf(body)
    const { message, author } = fieldsOf(commit)
    const { name: by, date } = fieldsOf(author)
    return {
      sha: readSha(client, sha),
      title: cleanLine(String(message ?? '').split('\n')[0], 200) ?? '',
      author: cleanLine(by, 100),
      at: readTime(date),
    }
  },
  async run(id) {
    if (!d.takesRunNumbers) return 'unfinished'
    const { status, body } = await get(`/actions/runs/${id}`, [404])
    if (status === 404) return undefined
    const { conclusion } = fieldsOf(body)
    if (typeof conclusion !== 'string' || conclusion === '') return 'unfinished'
    return conclusion === 'success' ? 'passed' : 'failed'
  },
})

function pullRequests(target: RepositoryTarget, d: Dialect): RemotePulls {
  const { client, root, get } = target
  const pullOf = (value: unknown): Pull => pullFrom(target, d, value)
  return {
    pulls: async () =>
      readList(client, (await get(`/pulls?state=open&${d.perPage(PULLS, 1)}`)).body)
        .slice(0, PULLS)
        .map(pullOf),
    hasPull: async (number) => (await get(`/pulls/${number}`, [404])).status < 300,
    async open({ title, head, base, description }) {
      const made = await client.ask('POST', `${root}/pulls`, {
        body: { title, head, base, body: description },
        allow: [404, 409, 422],
      })
      if (made.status < 300) return { pull: pullOf(made.body), existed: false }
      const existing = await d.existing(client, root, head, base)
      if (existing) return { pull: pullOf(existing), existed: true }
      throw new AppError(
        'conflict',
        `No pull request can be opened from ${head} to ${base}: ${client.errorText(made)}. Is ${head} pushed?`,
      )
    },
    async askReviewers(number, reviewers) {
      await client.ask('POST', `${root}/pulls/${number}/requested_reviewers`, { body: { reviewers } })
    },
  }
}

function pullFrom({ client, slug: { owner, name } }: RepositoryTarget, d: Dialect, value: unknown): Pull {
  const row = fieldsOf(value)
  const number = readNumber(client, row.number)
  return {
    number,
    title: cleanLine(row.title, 200) ?? '',
    url: `${client.place.base}/${owner}/${name}/${d.pullPath}/${number}`,
    head: requireValue(client, cleanLine(fieldsOf(row.head).ref, 250)),
    base: requireValue(client, cleanLine(fieldsOf(row.base).ref, 250)),
    author: cleanLine(fieldsOf(row.user).login, 100),
  }
}

/** Gitea sends pages, GitHub all at once: both say whether there is more. */
const TREE_PAGES = 10
/** Folders that are read one by one, and how many of them at once. */
const MOST_FOLDERS = 40
const FOLDERS_AT_ONCE = 8

async function treeOf({ client, get }: RepositoryTarget, d: Dialect, ref: string): Promise<TreeFile[]> {
  const found: TreeFile[] = []
  for (let page = 1; page <= TREE_PAGES && found.length < MOST_PATHS; page++) {
    const { tree, truncated } = fieldsOf((await get(`/git/trees/${encodePart(ref)}?${d.treePage(page)}`)).body)
    if (!Array.isArray(tree)) throw client.invalidResponse()
    found.push(...tree.flatMap((row) => readTreeFile(fieldsOf(row))))
    if (truncated !== true || d.treePage(page) === d.treePage(page + 1)) break
  }
  return found
}

interface Folder {
  ref: string
  /** Put before the names in it. */
  path: string
}

async function folderOf({ client, get }: RepositoryTarget, { ref, path }: Folder): Promise<[TreeFile[], Folder[]]> {
  const { tree } = fieldsOf((await get(`/git/trees/${encodePart(ref)}`)).body)
  if (!Array.isArray(tree)) throw client.invalidResponse()
  const rows = tree.map(fieldsOf).map((row): Fields => ({ ...row, path: `${path}${row.path}` }))
  const inside = rows.filter(({ type }) => type === 'tree')
  return [rows.flatMap(readTreeFile), inside.map((row) => ({ ref: readSha(client, row.sha), path: `${row.path}/` }))]
}

/** Reads a commit with very many files folder by folder, those at the top first, as far as the limits allow. */
async function treeByFolders(target: RepositoryTarget, ref: string): Promise<TreeFile[]> {
  const found: TreeFile[] = []
  const waiting: Folder[] = [{ ref, path: '' }]
  for (let asked = 0; waiting.length > 0 && asked < MOST_FOLDERS && found.length < MOST_PATHS; ) {
    const some = waiting.splice(0, Math.min(FOLDERS_AT_ONCE, MOST_FOLDERS - asked))
    asked += some.length
    for (const [inside, folders] of await Promise.all(some.map((one) => folderOf(target, one)))) {
      found.push(...inside)
      waiting.push(...folders)
    }
  }
  return found
}

const files = (target: RepositoryTarget, d: Dialect): RemoteFiles => ({
  tree: async (ref) => {
    const found = await treeOf(target, d, ref).catch((error: unknown) => {
      if (error instanceof ResponseTooLarge) return treeByFolders(target, ref)
      throw error
    })
    return found.slice(0, MOST_PATHS)
  },
  ...contentsOf(target, d),
})

const contentsOf = ({ client, slug, root, get }: RepositoryTarget, d: Dialect): Omit<RemoteFiles, 'tree'> => ({
  fileUrl: (path, ref, from, to) =>
    `${client.place.base}/${slug.owner}/${slug.name}/${d.filePath(path, ref, from, to)}`,
  branch: (branch, from) => d.makeBranch(client, root, branch, from),
  async file(path, ref) {
    const { status, body } = await get(`/contents/${encodePath(requireSafePath(path))}?ref=${encodePart(ref)}`, [404])
    if (status === 404) return undefined
    const { type, encoding, content, sha } = fieldsOf(body)
    if (type !== 'file' || encoding !== 'base64' || typeof content !== 'string')
      throw new AppError('conflict', `${path} already exists and is not a plain file. Move it away first.`)
    return { content: Buffer.from(content, 'base64').toString('utf8'), id: readSha(client, sha) }
  },
  async put(path, content, { branch, message, replaces }) {
    await client.ask(replaces ? 'PUT' : d.createWith, `${root}/contents/${encodePath(requireSafePath(path))}`, {
      body: {
        message,
        branch,
        content: Buffer.from(content).toString('base64'),
        ...(replaces && { sha: replaces.id }),
      },
    })
  },
})
