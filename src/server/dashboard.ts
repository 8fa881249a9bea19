import type { Elysia } from 'elysia'
import { AppError } from '../errors.ts'
import { chosenTheme, isSignedInBrowser } from '../http/cookies.ts'
import { headers } from '../http/headers.ts'
import { manifest, offlinePage, serviceWorker } from '../pages/install.ts'
import { openPack, type Pack, type PackedFile } from '../pages/pack.ts'
import { pageHeaders } from '../pages/pages.ts'
import { paths } from '../paths.ts'
import { acceptsEncoding } from './compression.ts'

/**
 * Only our own files and calls. Markup comes only from the purifier, and the address of the service worker only from
 * its registration: each has the one policy that may create it.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types dompurify tutti-worker',
].join('; ')

/** Adds the dashboard: its page on each of its addresses, and its files. */
export function addDashboard(server: Elysia, home: (request: Request) => Promise<Response>): void {
  let opening: Promise<Pack> | undefined
  const pack = () => {
    opening ??= openPack()
    return opening
  }
  // The public home page is at `/`.
  for (const path of paths)
    server.get(path, async ({ request }) =>
      path === '/' && !isSignedInBrowser(request) ? home(request) : sendPage(await pack(), request),
    )
  // Mails and bookmarks from before the dashboard.
  server.get(
    '/account',
    () => new Response(null, { status: 302, headers: { ...headers, location: '/settings/profile' } }),
  )
  server.get('/web/:name', async ({ request, params }) => sendFile(await pack(), request, `/web/${params.name}`))
  server.get('/fonts/:name', async ({ request, params }) => sendFile(await pack(), request, `/fonts/${params.name}`))
  server.get('/icons/:name', async ({ request, params }) => sendFile(await pack(), request, `/icons/${params.name}`))
  addInstallation(server)
}

/** Adds what a browser needs to install the dashboard, and to show a page without a connection. */
function addInstallation(server: Elysia): void {
  const send = (body: string, own: Record<string, string>) => () =>
    new Response(body, { headers: { ...headers, 'cache-control': 'no-cache', ...own } })
  server.get('/manifest.webmanifest', send(manifest, { 'content-type': 'application/manifest+json' }))
  server.get('/offline', send(offlinePage, pageHeaders()))
  server.get(
    '/worker.js',
    send(serviceWorker, {
      'content-type': 'text/javascript; charset=utf-8',
      'content-security-policy': "default-src 'none'; connect-src 'self'",
    }),
  )
}

/** Which page it is, and in which theme, depends on cookies. */
const ofReader = { 'cache-control': 'private, no-cache', vary: 'cookie' }

/** Names of built files contain a hash of their content, and those of fonts and icons a version: they never change. */
async function sendFile(pack: Pack, request: Request, path: string): Promise<Response> {
  const found = pack.files.get(path)
  if (!found) throw new AppError('not_found', 'No such file.')
  return sendPacked(pack, found, request, { 'cache-control': 'public, max-age=31536000, immutable' })
}

/** The theme of the cookie is written into the page, because no script could run early enough. */
async function sendPage(pack: Pack, request: Request): Promise<Response> {
  const found = pack.files.get('/index.html')
  if (!found) throw new AppError('internal', 'The dashboard is missing from this build.')
  const theme = chosenTheme(request)
  const html = new TextDecoder().decode(await pack.bytes(found.raw))
  return new Response(theme ? html.replace('<html ', `<html data-theme="${theme}" `) : html, {
    headers: {
      ...headers,
      'content-type': found.type,
      'content-security-policy': policy,
      ...ofReader,
    },
  })
}

async function sendPacked(
  pack: Pack,
  found: PackedFile,
  request: Request,
  more: Record<string, string>,
): Promise<Response> {
  const etag = `"${found.etag}"`
  const all = { ...headers, 'content-type': found.type, etag, vary: 'accept-encoding', ...more }
  if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers: all })
  for (const encoding of ['br', 'gzip'] as const) {
    const span = found[encoding]
    if (span && acceptsEncoding(request, encoding))
      return new Response(await pack.bytes(span), { headers: { ...all, 'content-encoding': encoding } })
  }
  return new Response(await pack.bytes(found.raw), { headers: all })
}
