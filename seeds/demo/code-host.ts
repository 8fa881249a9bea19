import { allowedHosts } from '../../src/outside/allowed-hosts.ts'
import type { Outbound } from '../../src/outside/outbound.ts'

/** The address of the fictional code host. Names under `.example` exist nowhere. */
export const HOST = 'https://git.northlight.example'
export const LANTERN = `${HOST}/northlight/lantern`
export const HARBOUR = `${HOST}/northlight/harbour`

/** The address of what a web program says of itself: its id where people let it in. */
export const CLIENT_DOCUMENT = 'https://reading-room.example/oauth/client.json'
const clientDocument = {
  client_id: CLIENT_DOCUMENT,
  client_name: 'Reading Room',
  redirect_uris: ['https://reading-room.example/callback'],
}

interface Repository {
  language: string
  topics: string[]
  branches: string[]
  /** Commits by the beginning of their hash; the first is the newest of main. `days`: how long ago. */
  commits: Record<string, { message: string; author: string; days: number }>
  pulls: { number: number; title: string; head: string; author: string; open?: true }[]
  /** Runs that passed. */
  runs: number[]
}

const repositories: Record<string, Repository> = {
  'northlight/lantern': {
    language: 'TypeScript',
    topics: ['reader', 'offline-first', 'libraries'],
    branches: ['main', 'offline-reading', 'resume-downloads', 'encrypt-shelf', 'checksum-blocks', 'cover-sizes'],
    commits: {
      b7e4019: { message: 'Store every book in blocks of 256 KB', author: 'Ada Lindqvist', days: 4 },
      '5d20c7a': { message: 'Read pages from the block store', author: 'Ada Lindqvist', days: 4 },
      e91f3b2: { message: 'Encrypt the shelf with a key per device', author: 'Ben Okafor', days: 3 },
      '03ac9d4': { message: 'Show what sync is doing', author: 'Ben Okafor', days: 19 },
      c2275e8: { message: 'Vary the cover cache by edition', author: 'Ada Lindqvist', days: 14 },
      '71f0d6b': { message: 'Open a book from the local copy first', author: 'Ada Lindqvist', days: 18 },
    },
    pulls: [
      { number: 322, title: 'Checksum every block on disk', head: 'checksum-blocks', author: 'ben', open: true },
      { number: 318, title: 'Read a book with no network', head: 'offline-reading', author: 'ada', open: true },
      { number: 316, title: 'Encrypt the shelf at rest', head: 'encrypt-shelf', author: 'ben', open: true },
      { number: 301, title: 'Pages come from the block store', head: 'block-store', author: 'ada' },
      { number: 288, title: 'Show what sync is doing', head: 'sync-status', author: 'ben' },
      { number: 279, title: 'Open from the local copy first', head: 'local-first', author: 'ada' },
    ],
    runs: [1031, 1044, 1058, 1102, 1149],
  },
  'northlight/harbour': {
    language: 'Go',
    topics: ['sync', 'server'],
    branches: ['main', 'online-backup'],
    commits: {
      a40be51: { message: 'Copy the store while it serves', author: 'Ben Okafor', days: 5 },
      '9b8817c': { message: 'Limit requests per library', author: 'Ben Okafor', days: 17 },
    },
    pulls: [
      { number: 64, title: 'Back up while serving', head: 'online-backup', author: 'ben', open: true },
      { number: 57, title: 'Limit requests per library', head: 'limits', author: 'ben' },
    ],
    runs: [402, 431],
  },
}

/**
 * Responds like the API of a Gitea server, as far as connecting a repository and checking evidence need it, and like
 * the site of a program that people let in.
 */
export const codeHost = (now: Date): Outbound => ({
  allowed: allowedHosts([]),
  send: async (url) => {
    const body = url === CLIENT_DOCUMENT ? clientDocument : responseOf(new URL(url).pathname, now)
    return {
      status: body === undefined ? 404 : 200,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(body ?? { message: 'Not found' })),
    }
  },
})

function responseOf(path: string, now: Date): unknown {
  const [, owner, name, rest = ''] = /^\/api\/v1\/repos\/([^/]+)\/([^/]+)(?:\/(.*))?$/.exec(path) ?? []
  const repository = repositories[`${owner}/${name}`]
  if (!repository) return undefined
  const { language, topics, branches, commits, pulls, runs } = repository
  if (rest === '') return { full_name: `${owner}/${name}`, private: false, default_branch: 'main', language, topics }
  if (rest === 'branches') return branches.map((branch) => ({ name: branch }))
  if (rest === 'pulls') return pulls.filter(({ open }) => open).map(pullOf)
  const [kind, last] = [rest.slice(0, rest.lastIndexOf('/')), rest.slice(rest.lastIndexOf('/') + 1)]
  if (kind === 'git/commits') return commitOf(commits, last, now)
  if (kind === 'pulls') return pulls.filter(({ number }) => number === Number(last)).map(pullOf)[0]
  if (kind === 'actions/runs') return runs.includes(Number(last)) ? { conclusion: 'success' } : undefined
  return undefined
}

const pullOf = ({ number, title, head, author }: Repository['pulls'][number]) => ({
  number,
  title,
  head: { ref: head },
  base: { ref: 'main' },
  user: { login: author },
})

function commitOf(commits: Repository['commits'], ref: string, now: Date): unknown {
  const sha = ref === 'main' ? Object.keys(commits)[0] : ref
  const found = sha === undefined ? undefined : commits[sha]
  if (!found) return undefined
  const date = new Date(now.getTime() - found.days * 86_400_000).toISOString()
  return { sha, commit: { message: found.message, author: { name: found.author, date } } }
}
