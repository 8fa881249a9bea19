import tokens from '../design/tokens.css' with { type: 'text' }
import docsCss from './docs.css' with { type: 'text' }
import enterCss from './enter.css' with { type: 'text' }
import frontCss from './front.css' with { type: 'text' }
import icon from './icon.svg' with { type: 'text' }
import apiScript from './scripts/api.js' with { type: 'text' }
import confirmScript from './scripts/confirm.js' with { type: 'text' }
import consentScript from './scripts/consent.js' with { type: 'text' }
import deviceScript from './scripts/device.js' with { type: 'text' }
import linksScript from './scripts/links.js' with { type: 'text' }
import loginScript from './scripts/login.js' with { type: 'text' }
import offlineScript from './scripts/offline.js' with { type: 'text' }
import passkeysScript from './scripts/passkeys.js' with { type: 'text' }
import registerScript from './scripts/register.js' with { type: 'text' }
import setupScript from './scripts/setup.js' with { type: 'text' }
import siteCss from './site.css' with { type: 'text' }
import css from './tutti.css' with { type: 'text' }

/**
 * Server-rendered pages: what all share. No inline script or style, so the policy is strict.
 */
const csp = (forms: string) =>
  `default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action ${forms}; base-uri 'none'; require-trusted-types-for 'script'; frame-ancestors 'none'`

export const html = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)

const wordmark = `<svg class="wordmark" viewBox="0 0 45 18" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M4.6 2.2v10.4a3 3 0 0 0 3 3h.4M1.4 6.9h6.6M12.4 6.9v5.2a3.5 3.5 0 0 0 7 0V6.9v8.7M42.6 6.9v8.7"/><g><path d="M27.2 2.2v10.4a3 3 0 0 0 3 3h.2M34.6 2.2v10.4a3 3 0 0 0 3 3h.4M23.6 7.75l15-2.3"/></g><path d="M42.6 2.7v.01" stroke-width="2.9"/></svg>`

export const wordmarkLink = `<a href="/" aria-label="Tutti, home">${wordmark}</a>`

const bar = `<header class="bar">${wordmarkLink}<nav aria-label="Tutti">
<a href="/inbox">Inbox</a><a href="/manual">Manual</a><a href="/api/reference">API</a><a href="/settings/profile">Account</a></nav></header>`

type Places = readonly (readonly [percent: number, y: number])[]

/** A staff whose circles are people and squares agents. */
export const staff = ({ circle, square }: { circle: Places; square: Places }): string =>
  `<svg class="staff" aria-hidden="true">${[12, 32, 52, 72].map((y) => `<line x1="0" x2="100%" y1="${y}" y2="${y}"/>`).join('')}${circle.map(([x, y]) => `<circle cx="${x}%" cy="${y}" r="6.5"/>`).join('')}${square.map(([x, y]) => `<svg x="${x}%" y="${y}"><rect x="-6" y="-6" width="12" height="12" rx="3"/></svg>`).join('')}</svg>`

/** Above pages to sign in: the logo on a staff. */
const heads = {
  circle: [[3, 52], [12, 72], [27, 32], [77, 52], [82, 12], [97, 52]],
  square: [[7, 32], [18, 12], [22, 52], [68, 52], [73, 32], [88, 32], [93, 72]],
} as const // biome-ignore format: a table
const score = `<header class="score">${staff(heads)}${wordmarkLink}</header>`

interface Shell {
  /** Address of the page's script. */
  script?: string
  /** Class of the page, for its layout: it has a style sheet of its own. */
  kind?: 'docs' | 'enter'
}

/** The beginning of a page: title, icon and style sheets. */
export const pageHead = (title: string, kind?: string): string =>
  `<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${html(title)}</title>
<link rel="icon" href="/assets/icon.svg"><link rel="stylesheet" href="/assets/tutti.css">${kind ? `<link rel="stylesheet" href="/assets/${kind}.css">` : ''}`

export const pageShell = (title: string, body: string, { script, kind }: Shell = {}): string =>
  `<!doctype html><html lang="en">${pageHead(title, kind)}${script ? `<script type="module" src="${script}"></script>` : ''}<body${kind ? ` class="${kind}"` : ''}>${kind === 'enter' ? score : bar}<main>${body}</main></html>`

/**
 * The headers of a page. `forms`: where it may send forms by itself, without a script. Default: nowhere, since most
 * have passwords in theirs.
 */
export const pageHeaders = (forms = "'none'") => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': csp(forms),
  'cache-control': 'no-cache',
})

export const assets: Record<string, { type: string; body: string }> = {
  'icon.svg': { type: 'image/svg+xml', body: icon },
  'docs.css': { type: 'text/css; charset=utf-8', body: docsCss },
  'enter.css': { type: 'text/css; charset=utf-8', body: enterCss },
  'front.css': { type: 'text/css; charset=utf-8', body: frontCss },
  'site.css': { type: 'text/css; charset=utf-8', body: siteCss },
  'tutti.css': { type: 'text/css; charset=utf-8', body: `${tokens}${css}` },
  ...Object.fromEntries(
    Object.entries({
      api: apiScript,
      confirm: confirmScript,
      consent: consentScript,
      device: deviceScript,
      links: linksScript,
      login: loginScript,
      offline: offlineScript,
      passkeys: passkeysScript,
      register: registerScript,
      setup: setupScript,
    }).map(([name, body]) => [`${name}.js`, { type: 'text/javascript; charset=utf-8', body }]),
  ),
}
