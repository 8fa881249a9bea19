import { type AppError, problem } from '../errors.ts'
import { pageHeaders } from '../pages/pages.ts'
import { isNavigation, problemPage } from '../pages/problem-page.ts'

/** Returns a problem document (RFC 9457), or a page if `request` is a person's browser that opened the address. */
export function problemResponse(
  error: AppError,
  path: string,
  requestId: string,
  headers: Record<string, string>,
  request?: Request,
): Response {
  const sent = { ...headers, 'x-request-id': requestId, ...headersOf(error) }
  if (request && isNavigation(request)) {
    const { method, url } = request
    const page = problemPage(error, { method, target: path + (URL.parse(url)?.search ?? ''), requestId })
    return new Response(page, { status: error.status, headers: { ...sent, ...pageHeaders(), ...notStored } })
  }
  return new Response(JSON.stringify(problem(error, path, requestId)), {
    status: error.status,
    headers: { ...sent, 'content-type': 'application/problem+json', ...notStored },
  })
}

const notStored = { 'cache-control': 'no-store' }

const headersOf = ({ status, details: { retryAfter, limit, allow } }: AppError): Record<string, string> => ({
  ...(status === 401 && { 'www-authenticate': 'Bearer realm="tutti"' }),
  ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  ...(limit !== undefined && {
    ratelimit: `"default";r=0;t=${retryAfter}`,
    'ratelimit-policy': `"default";q=${limit};w=60`,
  }),
  ...(allow && { allow }),
})
