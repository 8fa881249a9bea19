import { type AppError, codes, type ErrorCode, waysOutBy } from '../errors.ts'
import { withoutSecrets } from '../text/secrets.ts'
import { html, pageShell } from './pages.ts'

/** The request of an error page, which browsers show in place of the problem document. */
interface Asked {
  method: string
  /** The path and query of the request. */
  target: string
  requestId: string
}

interface Words {
  title: string
  /** Replaces the detail, which is written for programs. */
  detail?: (error: AppError, path: string) => string
}

const words: Partial<Record<ErrorCode, Words>> = {
  unauthenticated: {
    title: 'Sign in first',
    detail: (_, path) =>
      isApi(path)
        ? 'This address belongs to the web API. Sign in to open it in this browser. Programs send an API key.'
        : 'You must sign in to see this page.',
  },
  not_found: {
    title: 'Not found',
    detail: (error, path) =>
      error.details.subject
        ? `${error.message} It may have been deleted, or it belongs to a team that you are not in.`
        : `There is no page at ${path}. Check the address, or start from one of these.`,
  },
  method_not_allowed: {
    title: 'This address is for programs',
    detail: ({ details: { allow } }) => `Programs send ${allow} requests to this address. It has no page.`,
  },
  'forbidden.origin': { title: 'Unknown server address' },
  forbidden: { title: 'No access' },
  rate_limited: {
    title: 'Too many requests',
    detail: ({ details: { retryAfter = 60 } }) =>
      `There were too many requests from your network. Try again in ${retryAfter === 1 ? 'a second' : `${retryAfter} seconds`}.`,
  },
  internal: {
    title: 'Something went wrong',
    detail: () =>
      'The server failed. Try again. If it fails again, send the request id to the administrator of this server.',
  },
  unavailable: { title: 'Temporarily unavailable' },
}

const isApi = (path: string): boolean => /^\/(api|mcp)(\/|$)/.test(path)

/** Whether a browser opened the address. Scripts and programs get the problem document. */
export function isNavigation({ headers }: Request): boolean {
  if (!headers.get('accept')?.includes('text/html')) return false
  // Browsers send the mode only to trustworthy origins (HTTPS and localhost), and to all others the second header.
  const mode = headers.get('sec-fetch-mode')
  return mode === null ? headers.has('upgrade-insecure-requests') : mode === 'navigate'
}

/**
 * Masks secrets in the address, because people share screenshots. The address begins with one slash, because browsers
 * read two as another site.
 */
export function problemPage(error: AppError, asked: Asked): string {
  const { method, requestId } = asked
  const target = withoutSecrets(asked.target).replace(/^[/\\]+/, '/')
  const path = target.split('?')[0] ?? target
  const { title = codes[error.code][1], detail } = words[error.code] ?? {}
  const commands = waysOutBy(error.details.next, 'command')
  return pageShell(
    `${title} · Tutti`,
    `<h1>${html(title)}</h1><p class="lead">${html(detail?.(error, path) ?? error.message)}</p>
${commands.map((command) => `<p>On the command line: <code>${html(command)}</code></p>`).join('')}
<p class="row">${waysOut(error, method, target)}</p>
<dl class="small facts"><dt>Request<dd><code>${html(`${method} ${path}`)}</code>
<dt>Status<dd>${error.status} ${html(error.code)}
<dt>Request id<dd><code>${html(requestId)}</code></dl>`,
  )
}

function waysOut({ status, details }: AppError, method: string, target: string): string {
  const button = (href: string, text: string, kind = 'button quiet') =>
    `<a class="${kind}" href="${html(href)}">${html(text)}</a>`
  const next = isApi(target) ? '' : `?next=${encodeURIComponent(target)}`
  const again = method === 'GET' && (status >= 500 || details.retryAfter !== undefined)
  return [
    status === 401 && button(`/login${next}`, 'Sign in', 'button'),
    again && button(target, 'Try again', 'button'),
    isApi(target) && button('/api/reference', 'API reference'),
    button('/', 'Home'),
    status !== 401 && button('/settings/profile', 'Your account'),
    status === 404 && button('/manual', 'Manual'),
  ]
    .filter(Boolean)
    .join('')
}
