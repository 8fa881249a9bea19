/** The part of a request that picks a tunnel. */
export interface Place {
  mode: 'host' | 'path'
  slug: string
  /** Undefined: the only one that the machine offers. */
  service: string | undefined
  /** What the service is asked for. */
  target: string
  /** The host and port that the client used. */
  host: string
}

const name = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const isName = (text: string): boolean => text.length <= 30 && name.test(text)

/**
 * Returns the tunnel that a request is for: by host (`web--build-1.<domain>`), or by path (`/t/build-1/web/…`) on the
 * bare host of the listener. Undefined if it names none, or more than one host: what picks the tunnel must be exactly
 * what is authorised. Bun joins two Host headers with a comma, and resolves an absolute target beside Host.
 */
export function placeOf(request: Request, domain: string, isByPath: boolean): Place | undefined {
  const header = request.headers.get('host')?.toLowerCase()
  const url = URL.parse(request.url)
  if (!header || !url || header.includes(',')) return undefined
  if (url.host !== header.replace(/:80$/, '')) return undefined
  const [host = ''] = header.split(':')
  const target = url.pathname + url.search
  if (host.endsWith(`.${domain}`)) return byHost(host.slice(0, -domain.length - 1), target, header)
  return isByPath ? byPath(url, header) : undefined
}

function byHost(label: string, target: string, host: string): Place | undefined {
  const cut = label.indexOf('--')
  const [service, slug] = cut < 0 ? [undefined, label] : [label.slice(0, cut), label.slice(cut + 2)]
  if (!isName(slug) || (service !== undefined && !isName(service))) return undefined
  return { mode: 'host', slug, service, target, host }
}

function byPath(url: URL, host: string): Place | undefined {
  const [, slug = '', service = '', rest = ''] = /^\/t\/([^/]+)\/([^/]+)(\/.*)?$/.exec(url.pathname) ?? []
  if (!isName(slug) || !isName(service)) return undefined
  return { mode: 'path', slug, service, target: (rest || '/') + url.search, host }
}
