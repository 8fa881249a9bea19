import { AppError } from '../../errors.ts'
import type { CodeHostClient } from './client.ts'
import { encodePart, encodePath } from './github.ts'
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
import type { Hosted, Pull } from './schema.ts'

const BRANCHES = 200
const PAGE = 100

export const gitlab: HostProvider = {
  authorization: (token) => ({ authorization: `Bearer ${token}` }),
  headers: {},
  scopes: 'the scope api',
  async listRepositories(client) {
    const { body } = await client.ask('GET', `/projects?membership=true&order_by=last_activity_at&per_page=${PAGE}`)
    return readList(client, body)
      .slice(0, PAGE)
      .map((row) => gitlabRepository(client, row))
  },
  openRepository: remote,
}

const gitlabRepository = (client: CodeHostClient, row: Fields): Hosted =>
  readRepository(client, row.path_with_namespace, {
    private: row.visibility !== 'public',
    defaultBranch: row.default_branch,
  })

function remote(client: CodeHostClient, slug: Slug): RemoteRepository {
  const target = repositoryTarget(client, slug, `/projects/${encodePart(`${slug.owner}/${slug.name}`)}`)
  return { ...source(target), ...mergeRequests(target), ...files(target) }
}

const source = (target: RepositoryTarget): RemoteSource => ({
  ...sourceOf(target),
  async issues({ page, since }) {
    const { client, get } = target
    const from = since ? `&updated_after=${encodePart(since)}` : ''
    const asked = `scope=all&order_by=updated_at&sort=asc&per_page=100&page=${page}${from}`
    const rows = readList(client, (await get(`/issues?${asked}`)).body)
    return {
      items: rows.map((row) => readIssue(target, '-/issues', row, fieldsOf(row.author))),
      more: rows.length === 100,
    }
  },
})

const sourceOf = ({ client, get }: RepositoryTarget): Omit<RemoteSource, 'issues'> => ({
  async facts() {
    const row = fieldsOf((await get('')).body)
    const languages = Object.entries(fieldsOf((await get('/languages', [403, 404])).body)).filter(
      ([, share]) => typeof share === 'number',
    )
    const [most] = languages.sort(([, a], [, b]) => (b as number) - (a as number))
    return {
      ...gitlabRepository(client, row),
      language: cleanLine(most?.[0], 50),
      topics: cleanLines(row.topics, 50, 50),
    }
  },
  async branches() {
    const names: string[] = []
    for (let page = 1; names.length < BRANCHES; page++) {
      const rows = readList(client, (await get(`/repository/branches?per_page=${PAGE}&page=${page}`)).body)
      names.push(...rows.map((row) => requireValue(client, cleanLine(row.name, 250))))
      if (rows.length < PAGE) break
    }
    return names.slice(0, BRANCHES)
  },
  async commit(ref) {
    const { status, body } = await get(`/repository/commits/${encodePart(ref)}`, [404])
    if (status === 404) return undefined
    const { id, title, author_name: by, committed_date: at } = fieldsOf(body)
    return {
      sha: readSha(client, id),
      title: cleanLine(title, 200) ?? '',
      author: cleanLine(by, 100),
      at: readTime(at),
    }
  },
  async run(id) {
    const { status, body } = await get(`/pipelines/${id}`, [404])
    if (status === 404) return undefined
    const result = String(fieldsOf(body).status)
    if (result === 'success') return 'passed'
    return ['failed', 'canceled', 'skipped'].includes(result) ? 'failed' : 'unfinished'
  },
})

function mergeRequests(target: RepositoryTarget): RemotePulls {
  const { client, root, get } = target
  const pullOf = (value: unknown): Pull => pullFrom(target, value)
  return {
    pulls: async () =>
      readList(client, (await get('/merge_requests?state=opened&per_page=50')).body)
        .slice(0, 50)
        .map(pullOf),
    hasPull: async (number) => (await get(`/merge_requests/${number}`, [404])).status < 300,
    async open({ title, head, base, description }) {
      const made = await client.ask('POST', `${root}/merge_requests`, {
        body: { title, source_branch: head, target_branch: base, description },
        allow: [400, 409, 422],
      })
      if (made.status < 300) return { pull: pullOf(made.body), existed: false }
      const { body } = await get(
        `/merge_requests?state=opened&source_branch=${encodePart(head)}&target_branch=${encodePart(base)}`,
      )
      const [existing] = readList(client, body)
      if (existing) return { pull: pullOf(existing), existed: true }
      throw new AppError(
        'conflict',
        `No merge request can be opened from ${head} to ${base}: ${client.errorText(made)}. Is ${head} pushed?`,
      )
    },
    async askReviewers(number, reviewers) {
      const ids: number[] = []
      for (const reviewer of reviewers) {
        const [user] = readList(client, (await client.ask('GET', `/users?username=${encodePart(reviewer)}`)).body)
        if (!user) throw new AppError('not_found', `There is no user ${reviewer}.`)
        ids.push(readNumber(client, user.id))
      }
      await client.ask('PUT', `${root}/merge_requests/${number}`, { body: { reviewer_ids: ids } })
    },
  }
}

function pullFrom({ client, slug: { owner, name } }: RepositoryTarget, value: unknown): Pull {
  const row = fieldsOf(value)
  const number = readNumber(client, row.iid)
  return {
    number,
    title: cleanLine(row.title, 200) ?? '',
    url: `${client.place.base}/${owner}/${name}/-/merge_requests/${number}`,
    head: requireValue(client, cleanLine(row.source_branch, 250)),
    base: requireValue(client, cleanLine(row.target_branch, 250)),
    author: cleanLine(fieldsOf(row.author).username, 100),
  }
}

const files = ({ client, slug, root, get }: RepositoryTarget): RemoteFiles => ({
  async tree(ref) {
    const found: TreeFile[] = []
    for (let page = 1; page <= MOST_PATHS / PAGE; page++) {
      const query = `recursive=true&ref=${encodePart(ref)}&per_page=${PAGE}&page=${page}`
      const rows = readList(client, (await get(`/repository/tree?${query}`)).body)
      found.push(...rows.flatMap(readTreeFile))
      if (rows.length < PAGE) break
    }
    return found
  },
  fileUrl: (path, ref, from, to) =>
    `${client.place.base}/${slug.owner}/${slug.name}/-/blob/${encodePart(ref)}/${encodePath(path)}#L${from}-${to}`,
  async branch(branch, from) {
    const made = await client.ask('POST', `${root}/repository/branches`, {
      body: { branch, ref: from },
      allow: [400],
    })
    if (made.status === 400 && !/already exists/i.test(client.errorText(made)))
      throw new AppError('conflict', `The branch ${branch} cannot be created: ${client.errorText(made)}.`)
  },
  async file(path, ref) {
    const { status, body } = await get(
      `/repository/files/${encodePart(requireSafePath(path))}?ref=${encodePart(ref)}`,
      [404],
    )
    if (status === 404) return undefined
    const { encoding, content, blob_id: id } = fieldsOf(body)
    if (encoding !== 'base64' || typeof content !== 'string') throw client.invalidResponse()
    return { content: Buffer.from(content, 'base64').toString('utf8'), id: readSha(client, id) }
  },
  async put(path, content, { branch, message, replaces }) {
    await client.ask(replaces ? 'PUT' : 'POST', `${root}/repository/files/${encodePart(requireSafePath(path))}`, {
      body: { branch, commit_message: message, content },
    })
  },
})
