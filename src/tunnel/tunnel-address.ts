/** The part of a request that picks a tunnel. */
export interface TunnelAddress {
  mode: 'host' | 'path'
  slug: string
  /** Undefined: the only one that the machine offers. */
  service: string | undefined
  /** The path and query for the service. */
  target: string
  /** The host and port that the client used. */
  host: string
}

const name = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const isName = (text: string): boolean => text.length <= 30 && name.test(text)

/**
 * Returns the tunnel that a request is for: by host (`web--build-1.<domain>`), or by path (`/t/build-1/web/…`) on the
 * bare host of the listener. Undefined if it names no tunnel, `ambiguous` without exactly one host: the host that
 * selects the tunnel must be the host that is authorised. Bun joins two Host headers with a comma.
 */
export function tunnelAddressOf(
  request: Request,
  domain: string,
  isByPath: boolean,
): TunnelAddress | 'ambiguous' | undefined {
  const header = request.headers.get('host')?.toLowerCase()
  if (!header || header.includes(',')) return 'ambiguous'
  const path = pathOf(request.url, header)
  if (path === undefined) return 'ambiguous'
  const [host = ''] = header.split(':')
  if (host.endsWith(`.${domain}`)) return byHost(host.slice(0, -domain.length - 1), path, header)
  return isByPath ? byPath(path, header) : undefined
}

const plainHost = /^[a-z0-9.-]+(?::\d{1,5})?$/
/** A path and query in which nothing has to be resolved. */
const ordinary = /^(?:\/[\w~-][\w~.-]*)*\/?(?:\?[\w~.=&%+:,-]*)?$/

/** Returns the path and query of an address; undefined if its host is not the one of the header. */
function pathOf(address: string, header: string): string | undefined {
  const start = `http://${header}`
  const rest = plainHost.test(header) && address.startsWith(start) ? address.slice(start.length) : ''
  // Most paths are like this. Parsing the address would take as long as everything else here.
  if (rest.startsWith('/') && ordinary.test(rest)) return rest
  const url = URL.parse(address)
  return url?.host === header.replace(/:80$/, '') ? url.pathname + url.search : undefined
}

function byHost(label: string, target: string, host: string): TunnelAddress | undefined {
  const cut = label.indexOf('--')
  const [service, slug] = cut < 0 ? [undefined, label] : [label.slice(0, cut), label.slice(cut + 2)]
  if (!isName(slug) || (service !== undefined && !isName(service))) return undefined
  return { mode: 'host', slug, service, target, host }
}

function byPath(path: string, host: string): TunnelAddress | undefined {
  const [, slug = '', service = '', rest = ''] = /^\/t\/([^/?]+)\/([^/?]+)(.*)$/.exec(path) ?? []
  if (!isName(slug) || !isName(service)) return undefined
  return { mode: 'path', slug, service, target: rest.startsWith('/') ? rest : `/${rest}`, host }
}
