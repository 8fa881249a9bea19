import type { Config } from '../../config.ts'
import { invalid, type WayOut } from '../../errors.ts'
import type { CodeHost } from './schema.ts'

/** A code host: its web address, its API, and whether the operator configured it. */
export interface HostAddress {
  provider: CodeHost
  /** Web address without a trailing slash; may have a path. */
  base: string
  api: string
  /** Configured by the operator, so it may be at any address; all others must be on the public Internet. */
  trusted: boolean
}

export const normalizeBase = (address: string): string => {
  const { origin, pathname } = new URL(address)
  return origin + pathname.replace(/\/+$/, '')
}

const GITHUB = 'https://github.com'
const apis: Record<CodeHost, (base: string) => string> = {
  github: (base) => (base === GITHUB ? 'https://api.github.com' : `${base}/api/v3`),
  gitea: (base) => `${base}/api/v1`,
  gitlab: (base) => `${base}/api/v4`,
}

type Settings = Pick<Config, 'CODEHOST_PROVIDER' | 'CODEHOST_URL' | 'CODEHOST_API_URL' | 'sources'>

/** The host that the operator configured. Default: GitHub. */
export function operatorHost({
  CODEHOST_PROVIDER: provider,
  CODEHOST_URL,
  CODEHOST_API_URL,
  sources,
}: Settings): HostAddress {
  const base = normalizeBase(CODEHOST_URL)
  const api = sources.CODEHOST_API_URL === 'default' ? apis[provider](base) : normalizeBase(CODEHOST_API_URL)
  return { provider, base, api, trusted: sources.CODEHOST_URL !== 'default' }
}

export function hostAddress(config: Settings, { provider, base }: Pick<HostAddress, 'provider' | 'base'>): HostAddress {
  const own = operatorHost(config)
  return own.provider === provider && own.base === base
    ? own
    : { provider, base, api: apis[provider](base), trusted: false }
}

/** The default host of a provider. Gitea has none: a token must not go to a stranger's host by mistake. */
export function defaultBase(config: Settings, provider: CodeHost): string | undefined {
  const own = operatorHost(config)
  if (own.provider === provider) return own.base
  return { github: GITHUB, gitlab: 'https://gitlab.com', gitea: undefined }[provider]
}

// ---- how people name a repository

export interface RepositoryName {
  place: HostAddress
  owner: string
  name: string
}

const segment = /^(?!\.{1,2}$)[\w.-]{1,100}$/
/** git@host:owner/name.git */
const scp = /^[\w.-]+@([\w.-]+):(?!\/)(.+)$/

/** Parses a web or git address, or owner/name. Never repeats the input in an error: it may hold a password. */
export function parseRepository(
  given: string,
  known: readonly HostAddress[],
  usual: HostAddress | undefined,
): RepositoryName {
  const text = given.trim()
  const [, sshHost, sshPath] = scp.exec(text) ?? []
  if (sshHost && sshPath) return partsOf(atHost(sshHost, known), sshPath)
  if (text.includes('://')) {
    const url = URL.parse(text)
    if (url?.protocol === 'ssh:') return partsOf(atHost(url.hostname, known), url.pathname)
    if (!url || !/^https?:$/.test(url.protocol))
      throw invalid('/repo', 'Give an https:// address or owner/name.', 'format')
    if (url.username || url.password)
      throw invalid(
        '/repo',
        'The address must not contain a user name, password or token. Leave it out and send it again.',
        'format',
      )
    const whole = url.origin + url.pathname
    const place = longest(known.filter(({ base }) => whole.startsWith(`${base}/`)))
    if (!place) throw unknownHost(url.host)
    return partsOf(place, whole.slice(place.base.length))
  }
  const host = text.split('/')[0] as string
  const there = known.filter(({ base }) => new URL(base).host === host)
  if (there.length > 0)
    return parseRepository(`${new URL((there[0] as HostAddress).base).protocol}//${text}`, known, usual)
  if (!usual) throw invalid('/repo', 'Give the whole address: the host of this repository is not known.')
  return partsOf(usual, text)
}

const longest = (places: HostAddress[]): HostAddress | undefined =>
  places.sort((a, b) => b.base.length - a.base.length)[0]

function atHost(host: string, known: readonly HostAddress[]): HostAddress {
  const place = longest(known.filter(({ base }) => new URL(base).hostname === host.toLowerCase()))
  if (!place) throw unknownHost(host)
  return place
}

export const saveTokenStep = (provider: string): WayOut => ({
  route: `PUT /api/settings/integrations/user/${provider}`,
  command: `tutti integrations create ${provider} --secret -`,
})

const unknownHost = (host: string) =>
  invalid(
    '/repo',
    `${host.slice(0, 100)} is not a code host that you have connected. Save a token for it first, with settings.url.`,
    'invalid',
    [saveTokenStep('{github, gitea or gitlab}')],
  )

function partsOf(place: HostAddress, path: string): RepositoryName {
  const [whole = ''] = path.replace(/^\/+/, '').split('/-/')
  const all = whole.replace(/\/+$/, '').split('/')
  // GitLab nests groups; elsewhere, further parts are a page of the repository.
  const parts = place.provider === 'gitlab' ? all : all.slice(0, 2)
  const last = (parts.pop() ?? '').replace(/\.git$/, '')
  if (parts.length === 0 || parts.length > 10 || ![...parts, last].every((part) => segment.test(part)))
    throw invalid('/repo', 'A repository is named owner/name, or by its address.', 'format')
  return { place, owner: parts.join('/'), name: last }
}

// ---- names of files

/** The only check of a file's path in a repository: relative, inside it, and none of git's own files. */
export function isSafePath(path: string): boolean {
  const parts = path.split('/')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const isOdd = path.length > 300 || /[\u0000-\u001f\u007f\\:]/.test(path)
  return !isOdd && parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/^\.git[\s.]*$/i.test(part))
}

export function requireSafePath(path: string): string {
  if (!isSafePath(path))
    throw invalid('/path', 'The file must be inside the repository, with a plain path such as docs/AGENTS.md.')
  return path
}
