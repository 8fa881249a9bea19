/** What the hook sees of a request and of what its handler returned. */
interface Answered {
  request: Request
  responseValue: unknown
  set: { status?: number | string; headers: Record<string, unknown> }
}

/** Kept by the reader's own browser, which asks each time whether it is still true. */
const kept = { 'cache-control': 'private, no-cache', vary: 'Authorization, Cookie, X-Organization-Id' }

/**
 * Adds an ETag to what a GET returns, and sends no body to a reader who has it already (304). A hook of each route that
 * reads. It returns the body as text, because the tag is made from it and it should be written only once.
 */
export function unlessHeld({ request, responseValue, set }: Answered): string | undefined {
  if (request.method !== 'GET' || set.status !== 200 || !isJson(responseValue)) return undefined
  const body = JSON.stringify(responseValue)
  const etag = etagOf(responseValue, body)
  Object.assign(set.headers, kept, { etag })
  if (holds(request.headers.get('if-none-match'), etag)) {
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
 * `"<version>.<hash>"`: If-Match looks at the version, and 304 at all of it, because what a reader may do and what
 * belongs to other records changes without the version. Lists have version 0, which no record has.
 */
function etagOf(value: { version?: unknown }, body: string): string {
  const version = typeof value.version === 'number' ? value.version : 0
  return `"${version}.${Bun.hash.wyhash(body).toString(36)}"`
}

/** Proxies that compress make a tag weak. */
const holds = (held: string | null, etag: string): boolean =>
  held !== null && held.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
