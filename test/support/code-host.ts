import { createHash } from 'node:crypto'
import { atEnd } from './cleanup.ts'
import type { Certificate } from './tls.ts'

/** Code hosts on loopback that answer as GitHub, Gitea and GitLab do, as far as we ask them, and write down what they are sent. */
interface Asked {
  method: string
  path: string
  query: URLSearchParams
  headers: Headers
  body: Record<string, unknown> | undefined
}

export interface FakeRepository {
  private: boolean
  defaultBranch: string
  language: string | null
  topics: string[]
  /** By branch: its files. */
  branches: Map<string, Map<string, string>>
  commits: Map<string, string>
  pulls: {
    number: number
    title: string
    head: string
    base: string
    open: boolean
    body: string
    reviewers: string[]
  }[]
  issues: { number: number; title: string; open: boolean; labels: string[]; at: string; isPull?: boolean }[]
  /** By number: how it ended. */
  runs: Map<number, string>
}

export interface FakeCodeHost {
  url: string
  provider: 'github' | 'gitea' | 'gitlab'
  /** Settings of an app whose operator chose it. */
  settings: Record<string, string>
  /** Who knows one of these sees private repositories, and may write. */
  tokens: Set<string>
  repositories: Map<string, FakeRepository>
  asked: Asked[]
  /** Instead of an answer. */
  fault: ((asked: Asked) => Response | undefined | Promise<Response | undefined>) | undefined
  add(slug: string, change?: Partial<FakeRepository>): FakeRepository
  stop(): Promise<void>
}

const shaOf = (text: string) => createHash('sha1').update(text).digest('hex')
export const SHA = shaOf('first')

type Reply = [status: number, body?: unknown, headers?: Record<string, string>]
interface Received extends Asked {
  signedIn: boolean
  host: FakeCodeHost
}

export function fakeRepositoryHost(provider: FakeCodeHost['provider'], tls?: Certificate): FakeCodeHost {
  const host: FakeCodeHost = {
    url: '',
    provider,
    settings: {},
    tokens: new Set(),
    repositories: new Map(),
    asked: [],
    fault: undefined,
    add(slug, change = {}) {
      const made: FakeRepository = {
        private: false,
        defaultBranch: 'main',
        language: 'TypeScript',
        topics: ['agents', 'mcp'],
        branches: new Map([
          ['lock', new Map()],
          ['main', new Map([['README.md', '# Engine\n']])],
        ]),
        commits: new Map([[SHA, 'Lock the data folder\n\nAnd say so.']]),
        pulls: [],
        issues: [],
        runs: new Map(),
        ...change,
      }
      host.repositories.set(slug, made)
      return made
    },
    stop: () => server.stop(true),
  }
  const api = { github: '/api/v3', gitea: '/api/v1', gitlab: '/api/v4' }[provider]
  const dialect = provider === 'gitlab' ? gitlab : githubLike
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    tls,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const text = await request.text()
      const body = text ? (JSON.parse(text) as Record<string, unknown>) : undefined
      const path = pathname.startsWith(`${api}/`) ? pathname.slice(api.length) : pathname
      const asked: Asked = { method: request.method, path, query: searchParams, headers: request.headers, body }
      host.asked.push(asked)
      const fault = await host.fault?.(asked)
      if (fault) return fault
      const given = /^(?:Bearer|token) (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1]
      if (given !== undefined && !host.tokens.has(given))
        return Response.json({ message: 'Bad credentials' }, { status: 401 })
      const [status, answer, headers] = dialect({ ...asked, signedIn: given !== undefined, host })
      return Response.json(answer ?? { message: 'Not Found' }, { status, headers })
    },
  })
  host.url = `${tls ? 'https' : 'http'}://127.0.0.1:${server.port}`
  host.settings = { CODEHOST_PROVIDER: provider, CODEHOST_URL: host.url }
  atEnd(() => server.stop(true))
  return host
}

/** Holds what the examples of the documentation name, for callers with this token. */
export const EXAMPLE_TOKEN = 'pat_of_the_documented_examples'
export function exampleHost(): FakeCodeHost {
  const host = fakeRepositoryHost('github')
  host.tokens.add(EXAMPLE_TOKEN)
  host.add('tutti/tutti')
  return host
}

/** A page of a list, as all three cut them. */
function page<T>(list: T[], query: URLSearchParams): T[] {
  const size = Number(query.get('per_page') ?? query.get('limit') ?? 30)
  const from = (Number(query.get('page') ?? 1) - 1) * size
  return list.slice(from, from + size)
}

const base64 = (text: unknown) => Buffer.from(String(text)).toString('base64')
const visible = ({ host, signedIn }: Received) =>
  [...host.repositories].filter(([, repository]) => signedIn || !repository.private)

function githubLike(asked: Received): Reply {
  const { method, path, query, signedIn, host, body } = asked
  const gitea = host.provider === 'gitea'
  const full = ([slug, repository]: [string, FakeRepository]) => ({
    full_name: slug,
    // Never to be believed.
    html_url: 'https://evil.example/',
    private: repository.private,
    default_branch: repository.defaultBranch,
    language: repository.language,
    topics: repository.topics,
  })
  if (path === '/user/repos')
    return signedIn ? [200, page(visible(asked).map(full), query)] : [401, { message: 'Requires authentication' }]
  const [, slug = '', rest = ''] = /^\/repos\/([^/]+\/[^/]+)(\/.*)?$/.exec(path) ?? []
  const found = visible(asked).find(([name]) => name === decodeURIComponent(slug))
  if (!found) return [404]
  const repository = found[1]
  if (method !== 'GET' && !signedIn) return [401, { message: 'Requires authentication' }]
  const pull = (p: FakeRepository['pulls'][number]) => ({
    number: p.number,
    title: p.title,
    html_url: 'javascript:alert(1)',
    state: p.open ? 'open' : 'closed',
    head: { ref: p.head },
    base: { ref: p.base },
    user: { login: 'ada' },
  })
  const open = repository.pulls.filter((p) => p.open)
  if (rest === '') return [200, full(found)]
  if (rest === '/branches' && method === 'GET')
    return [
      200,
      page(
        [...repository.branches.keys()].map((name) => ({ name })),
        query,
      ),
    ]
  if (rest === '/branches' && gitea) {
    const { new_branch_name: name, old_branch_name: from } = body as Record<string, string>
    if (repository.branches.has(name as string)) return [409, { message: 'The branch already exists.' }]
    repository.branches.set(name as string, new Map(repository.branches.get(from as string)))
    return [201, { name }]
  }
  const commit = (gitea ? /^\/git\/commits\/(.+)$/ : /^\/commits\/(.+)$/).exec(rest)?.[1]
  if (commit) {
    const ref = decodeURIComponent(commit)
    const sha = repository.branches.has(ref) ? SHA : [...repository.commits.keys()].find((one) => one.startsWith(ref))
    if (!sha) return gitea ? [404] : [422, { message: `No commit found for SHA: ${ref}` }]
    return [
      200,
      {
        sha,
        commit: {
          message: repository.commits.get(sha),
          author: { name: 'Ada Lovelace', date: '2026-11-01T12:00:00Z' },
        },
      },
    ]
  }
  if (rest === '/issues')
    return [
      200,
      page(
        repository.issues.filter(({ at }) => at >= (query.get('since') ?? '')),
        query,
      ).map((one) => ({
        number: one.number,
        title: one.title,
        html_url: 'javascript:alert(1)',
        state: one.open ? 'open' : 'closed',
        labels: one.labels.map((name) => ({ name })),
        user: { login: 'ada' },
        updated_at: one.at,
        ...(one.isPull && { pull_request: {} }),
      })),
    ]
  if (rest === '/pulls' && method === 'GET') {
    const head = query.get('head')?.split(':')[1]
    return [
      200,
      page(
        open.filter((p) => !head || p.head === head),
        query,
      ).map(pull),
    ]
  }
  if (rest === '/pulls') {
    const { title, head, base, body: description } = body as Record<string, string>
    if (open.some((p) => p.head === head && p.base === base))
      return gitea
        ? [409, { message: 'pull request already exists for these targets' }]
        : [
            422,
            { message: 'Validation Failed', errors: [{ message: `A pull request already exists for tutti:${head}.` }] },
          ]
    if (!repository.branches.has(head as string))
      return gitea ? [404] : [422, { message: 'Validation Failed', errors: [{ message: 'Field head is invalid' }] }]
    const made = {
      number: repository.pulls.length + 1,
      title,
      head,
      base,
      open: true,
      body: description,
      reviewers: [],
    } as never
    repository.pulls.push(made)
    return [201, pull(made)]
  }
  const [, number, more] = /^\/pulls\/(\d+)(\/requested_reviewers)?$/.exec(rest) ?? []
  if (number) {
    const one = repository.pulls.find((p) => p.number === Number(number))
    if (!one) return [404]
    if (!more) return [200, pull(one)]
    const { reviewers } = body as { reviewers: string[] }
    if (reviewers.includes('nobody')) return [422, { message: 'Reviews may only be requested from collaborators.' }]
    one.reviewers.push(...reviewers)
    return [201, pull(one)]
  }
  const run = /^\/actions\/runs\/(\d+)$/.exec(rest)?.[1]
  if (run) return repository.runs.has(Number(run)) ? [200, { conclusion: repository.runs.get(Number(run)) }] : [404]
  const ref = /^\/git\/ref\/heads\/(.+)$/.exec(rest)?.[1]
  if (ref) return repository.branches.has(decodeURIComponent(ref)) ? [200, { object: { sha: SHA } }] : [404]
  if (rest === '/git/refs') {
    const name = String(body?.ref).replace('refs/heads/', '')
    if (repository.branches.has(name)) return [422, { message: 'Reference already exists' }]
    repository.branches.set(name, new Map(repository.branches.get(repository.defaultBranch)))
    return [201, { ref: body?.ref }]
  }
  const tree = /^\/git\/trees\/([^/]+)$/.exec(rest)?.[1]
  if (tree) return repository.commits.has(tree) ? [200, { tree: treeOf(repository), truncated: false }] : [404]
  const file = /^\/contents\/(.+)$/.exec(rest)?.[1]
  if (file) return contents(repository, decodeURIComponent(file), asked)
  return [404]
}

/** The files at a ref: a commit is one of the default branch. */
const filesAt = ({ branches, commits, defaultBranch }: FakeRepository, ref: string) =>
  branches.get(commits.has(ref) ? defaultBranch : ref)

/** The listing of a commit, with a folder and a link, as hosts send them. */
const treeOf = (repository: FakeRepository) => [
  { path: 'docs', type: 'tree' },
  { path: 'vendored', type: 'commit' },
  ...[...(repository.branches.get(repository.defaultBranch) ?? [])].map(([path, text]) => ({
    path,
    type: 'blob',
    size: text.length,
  })),
]

function contents(repository: FakeRepository, file: string, { method, query, body, host }: Received): Reply {
  const branch = filesAt(repository, method === 'GET' ? (query.get('ref') ?? '') : String(body?.branch))
  const now = branch?.get(file)
  if (!branch) return [404]
  if (method === 'GET')
    return now === undefined
      ? [404]
      : [200, { type: 'file', encoding: 'base64', content: base64(now).replace(/.{60}/g, '$&\n'), sha: shaOf(now) }]
  if (host.provider === 'gitea' && (method === 'POST') !== (now === undefined))
    return [422, { message: 'repository file already exists' }]
  if (now !== undefined && body?.sha !== shaOf(now)) return [409, { message: `${file} does not match` }]
  branch.set(file, Buffer.from(String(body?.content), 'base64').toString())
  return [now === undefined ? 201 : 200, { content: {} }]
}

function gitlab(asked: Received): Reply {
  const { method, path, query, signedIn, body } = asked
  const full = ([slug, repository]: [string, FakeRepository]) => ({
    path_with_namespace: slug,
    web_url: 'https://evil.example/',
    visibility: repository.private ? 'private' : 'public',
    default_branch: repository.defaultBranch,
    topics: repository.topics,
  })
  if (path === '/projects') return [200, page(visible(asked).map(full), query)]
  if (path === '/users')
    return [200, query.get('username') === 'nobody' ? [] : [{ id: 42, username: query.get('username') }]]
  const [, slug = '', rest = ''] = /^\/projects\/([^/]+)(\/.*)?$/.exec(path) ?? []
  const found = visible(asked).find(([name]) => name === decodeURIComponent(slug))
  if (!found) return [404, { message: '404 Project Not Found' }]
  const repository = found[1]
  if (method !== 'GET' && !signedIn) return [401, { message: '401 Unauthorized' }]
  const pull = (p: FakeRepository['pulls'][number]) => ({
    iid: p.number,
    title: p.title,
    source_branch: p.head,
    target_branch: p.base,
    author: { username: 'ada' },
  })
  if (rest === '') return [200, full(found)]
  if (rest === '/languages') return [200, { Shell: 8.1, ...(repository.language && { [repository.language]: 91.9 }) }]
  if (rest === '/repository/branches' && method === 'GET')
    return [
      200,
      page(
        [...repository.branches.keys()].map((name) => ({ name })),
        query,
      ),
    ]
  if (rest === '/repository/branches') {
    const { branch, ref } = body as Record<string, string>
    if (repository.branches.has(branch as string)) return [400, { message: 'Branch already exists' }]
    repository.branches.set(branch as string, new Map(repository.branches.get(ref as string)))
    return [201, { name: branch }]
  }
  const commit = /^\/repository\/commits\/(.+)$/.exec(rest)?.[1]
  if (commit) {
    const ref = decodeURIComponent(commit)
    const sha = repository.branches.has(ref) ? SHA : [...repository.commits.keys()].find((one) => one.startsWith(ref))
    if (!sha) return [404, { message: '404 Commit Not Found' }]
    const [title] = (repository.commits.get(sha) as string).split('\n')
    return [200, { id: sha, title, author_name: 'Ada Lovelace', committed_date: '2026-11-01T12:00:00.000+00:00' }]
  }
  if (rest === '/merge_requests' && method === 'GET') {
    const from = query.get('source_branch')
    return [
      200,
      page(
        repository.pulls.filter((p) => p.open && (!from || p.head === from)),
        query,
      ).map(pull),
    ]
  }
  if (rest === '/merge_requests') {
    const { title, source_branch: head, target_branch: base, description } = body as Record<string, string>
    if (repository.pulls.some((p) => p.open && p.head === head && p.base === base))
      return [409, { message: ['Another open merge request already exists for this source branch: !1'] }]
    if (!repository.branches.has(head as string)) return [400, { message: ['Source branch does not exist'] }]
    const made = {
      number: repository.pulls.length + 1,
      title,
      head,
      base,
      open: true,
      body: description,
      reviewers: [],
    } as never
    repository.pulls.push(made)
    return [201, pull(made)]
  }
  const number = /^\/merge_requests\/(\d+)$/.exec(rest)?.[1]
  if (number) {
    const one = repository.pulls.find((p) => p.number === Number(number))
    if (!one) return [404]
    if (method === 'PUT') one.reviewers.push(...(body as { reviewer_ids: number[] }).reviewer_ids.map(String))
    return [200, pull(one)]
  }
  const run = /^\/pipelines\/(\d+)$/.exec(rest)?.[1]
  if (run) return repository.runs.has(Number(run)) ? [200, { status: repository.runs.get(Number(run)) }] : [404]
  if (rest === '/repository/tree')
    return repository.commits.has(query.get('ref') ?? '') ? [200, page(treeOf(repository), query)] : [404]
  const file = /^\/repository\/files\/(.+)$/.exec(rest)?.[1]
  if (!file) return [404]
  const name = decodeURIComponent(file)
  const branch = filesAt(repository, method === 'GET' ? (query.get('ref') ?? '') : String(body?.branch))
  const now = branch?.get(name)
  if (method === 'GET')
    return now === undefined ? [404] : [200, { encoding: 'base64', content: base64(now), blob_id: shaOf(now) }]
  if ((method === 'POST') !== (now === undefined)) return [400, { message: 'A file with this name already exists' }]
  branch?.set(name, String(body?.content))
  return [method === 'POST' ? 201 : 200, { file_path: name }]
}
