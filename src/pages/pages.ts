import { actionOf, documented, exampleOf, isUpload, type RouteLike, responsesOf } from '../http/openapi.ts'
import type { TSchema } from '../schema.ts'
import icon from './icon.svg' with { type: 'text' }
import accountScript from './scripts/account.js' with { type: 'text' }
import apiScript from './scripts/api.js' with { type: 'text' }
import deviceScript from './scripts/device.js' with { type: 'text' }
import featureScript from './scripts/feature.js' with { type: 'text' }
import linksScript from './scripts/links.js' with { type: 'text' }
import loginScript from './scripts/login.js' with { type: 'text' }
import passkeysScript from './scripts/passkeys.js' with { type: 'text' }
import registerScript from './scripts/register.js' with { type: 'text' }
import sectionScript from './scripts/section.js' with { type: 'text' }
import setupScript from './scripts/setup.js' with { type: 'text' }
import workScript from './scripts/work.js' with { type: 'text' }
import css from './tutti.css' with { type: 'text' }

/**
 * Server-rendered pages: home, API reference, manual; those about accounts are in account-pages.ts. No inline script or
 * style, so the policy is strict.
 */
const csp =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; require-trusted-types-for 'script'; frame-ancestors 'none'"

export const html = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)

const wordmark = `<svg class="wordmark" viewBox="0 0 45 18" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M4.6 2.2v10.4a3 3 0 0 0 3 3h.4M1.4 6.9h6.6M12.4 6.9v5.2a3.5 3.5 0 0 0 7 0V6.9v8.7M42.6 6.9v8.7"/><g><path d="M27.2 2.2v10.4a3 3 0 0 0 3 3h.2M34.6 2.2v10.4a3 3 0 0 0 3 3h.4M23.6 7.75l15-2.3"/></g><path d="M42.6 2.7v.01" stroke-width="2.9"/></svg>`

const bar = `<header class="bar"><a href="/" aria-label="Tutti, home">${wordmark}</a><nav aria-label="Tutti">
<a href="/inbox">Inbox</a><a href="/manual">Manual</a><a href="/api/reference">API</a><a href="/account">Account</a></nav></header>`

export const shell = (title: string, body: string, script = ''): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${html(title)}</title>
<link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/assets/tutti.css">${script && `<script type="module" src="${script}"></script>`}${bar}<main>${body}</main></html>`

/** The headers of a page. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': csp,
  'cache-control': 'no-cache',
}

export const htmlResponse = (body: string, headers: Record<string, string>): Response =>
  new Response(body, { headers: { ...headers, ...pageHeaders } })

export const assets: Record<string, { type: string; body: string }> = {
  'icon.svg': { type: 'image/svg+xml', body: icon },
  'tutti.css': { type: 'text/css; charset=utf-8', body: css },
  ...Object.fromEntries(
    Object.entries({
      account: accountScript,
      api: apiScript,
      device: deviceScript,
      feature: featureScript,
      links: linksScript,
      login: loginScript,
      passkeys: passkeysScript,
      register: registerScript,
      section: sectionScript,
      setup: setupScript,
      work: workScript,
    }).map(([name, body]) => [`${name}.js`, { type: 'text/javascript; charset=utf-8', body }]),
  ),
}

export const homePage = (version: string): string =>
  shell(
    'Tutti',
    `<h1>Tutti</h1><p class="lead">People and AI agents plan and do software work together. This is your own instance, version ${html(version)}.</p>
<ul class="cards">
<li><a href="/account"><strong>Your account</strong>Sign in, create tokens, add passkeys</a></li>
<li><a href="/inbox"><strong>Inbox</strong>What waits for you, and reviews</a></li>
<li><a href="/manual/start"><strong>First five minutes</strong>Sign in, create a token, connect an agent</a></li>
<li><a href="/manual/mcp"><strong>Agents</strong>MCP at <code>/mcp</code> and <code>/mcp/sse</code></a></li>
<li><a href="/api/reference"><strong>API reference</strong>Every operation with an example</a></li>
<li><a href="/manual"><strong>Manual</strong>Using it and running it</a></li>
<li><a href="/api/openapi.json"><strong>OpenAPI 3.1</strong>The API for machines</a></li>
<li><a href="/health"><strong>Health</strong>Status of the server</a></li></ul>`,
  )

export const manualIndex = (pages: { id: string; title: string }[]): string =>
  shell(
    'Manual',
    `<h1>Manual</h1><ul>${pages.map((p) => `<li><a href="/manual/${p.id}">${html(p.title)}</a></li>`).join('')}</ul>`,
  )

export const manualPage = ({ title, content }: { title: string; content: string }): string =>
  shell(
    `${title} · Tutti`,
    `<p><a href="/manual">Manual</a></p>${Bun.markdown.html(content).replace(/href="(\w+)"/g, 'href="/manual/$1"')}`,
  )

export function referencePage(routes: readonly RouteLike[]): string {
  const groups = Map.groupBy(documented(routes), (r) => (r.hooks.detail as { tags: [string] }).tags[0])
  const sections = [...groups].map(
    ([tag, list]) => `<h2 id="${html(tag)}">${html(tag)}</h2>${list.map(operation).join('')}`,
  )
  return shell(
    'API reference · Tutti',
    `<h1>API reference</h1><p class="lead">General rules: <a href="/manual/api">Web API</a>. For machines: <a href="/api/openapi.json">openapi.json</a>.</p>
<p>${[...groups.keys()].map((tag) => `<a href="#${html(tag)}">${html(tag)}</a>`).join(' · ')}</p>${sections.join('')}`,
  )
}

function operation(route: RouteLike): string {
  const { method, path, hooks } = route
  const { rule, id } = actionOf(route)
  const { summary } = hooks.detail as { summary: string }
  const open = rule.kinds.includes('anonymous')
  const body = hooks.body && JSON.stringify(exampleOf(hooks.body), null, 2)
  const curl = [
    `curl -X ${method} "$TUTTI${path}"`,
    !open && '-H "authorization: Bearer $TOKEN"',
    isUpload(hooks)
      ? '-F file=@picture.png'
      : body && `-H 'content-type: application/json' -d '${JSON.stringify(exampleOf(hooks.body as never))}'`,
  ]
  const [[status, schema]] = Object.entries(responsesOf(hooks.response)) as [[string, TSchema]]
  const query = Object.entries(
    (hooks.query?.properties ?? {}) as Record<string, { description?: string; enum?: string[]; type?: string }>,
  )
  const rows = query.map(
    ([name, s]) =>
      `<tr><td><code>${html(name)}</code><td>${html(s.enum?.join(', ') ?? s.type ?? '')}<td>${html(s.description ?? '')}</tr>`,
  )
  return `<details id="${html(id)}"><summary><span class="method">${html(method)}</span><code>${html(path)}</code><span class="soft">${html(summary)}</span></summary><div>
<p class="soft">${html(id)}${rule.scope ? ` · scope ${html(rule.scope)}` : ''}${rule.role ? ` · role ${rule.role}` : ''}${open ? ' · no credential needed' : ''}</p>
${rows.length ? `<table><tr><th>Query<th>Type<th></tr>${rows.join('')}</table>` : ''}
<pre>${html(curl.filter(Boolean).join(' \\\n  '))}</pre>
<p class="soft">Returns ${html(status)}</p><pre>${html(JSON.stringify(exampleOf(schema), null, 2))}</pre></div></details>`
}
