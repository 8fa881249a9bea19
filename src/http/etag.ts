interface Answered {
  request: Request
  responseValue: unknown
  set: { status?: number | string; headers: Record<string, unknown> }
}

/** The browser caches the response, and revalidates it each time. */
const kept = { 'cache-control': 'private, no-cache', vary: 'Authorization, Cookie, X-Organization-Id' }

/**
 * Adds an ETag to the response of a GET, and returns 304 if the client already has the body. A hook of each reading
 * route. Returns the body as text, because the tag is computed from it and JSON should be written only once.
 */
export function respondWithEtag({ request, responseValue, set }: Answered): string | undefined {
  if (request.method !== 'GET' || set.status !== 200 || !isJson(responseValue)) return undefined
  const body = JSON.stringify(responseValue)
  const etag = etagOf(responseValue, body)
  Object.assign(set.headers, kept, { etag })
  if (matchesTag(request.headers.get('if-none-match'), etag)) {
    set.status = 304
    return ''
  }
  set.headers['content-type'] = 'application/json;charset=utf-8'
  return body
}

/** Files, streams and redirects have headers of their own. */
const isJson = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && (Array.isArray(value) || value.constructor === Object)

/**
 * `"<version>.<hash>"`: If-Match compares the version, 304 the whole tag, because permissions and fields of other
 * records change without the version. Lists have version 0, which no record has.
 */
function etagOf(value: { version?: unknown }, body: string): string {
  const version = typeof value.version === 'number' ? value.version : 0
  return `"${version}.${Bun.hash.wyhash(body).toString(36)}"`
}

/** Proxies that compress make a tag weak. */
const matchesTag = (held: string | null, etag: string): boolean =>
  held !== null && held.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
