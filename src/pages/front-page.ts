import { html, pageHead, staff, wordmarkLink } from './pages.ts'

/** What the front page says about this server. */
export interface FrontFacts {
  version: string
  /** The name of this server, as the visitor addresses it. */
  host: string
  /** Who runs the server, if the operator has named it. */
  operator: string | null
  /** Anyone can create an account. */
  isOpen: boolean
  /** The theme that the visitor has chosen; undefined: that of their system. */
  theme: string | undefined
}

/** Circles are people, squares agents: the place on the staff in percent, and the height. */
const notes = {
  circle: [[3, 52], [12, 72], [27, 32], [38, 12], [55, 52], [77, 52], [82, 12], [97, 52]],
  square: [[7, 32], [18, 12], [22, 52], [33, 52], [44, 72], [50, 32], [61, 12], [68, 52], [73, 32], [88, 32], [93, 72]],
} as const // biome-ignore format: a table

const icon = (paths: string): string =>
  `<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${paths}</svg>`
const frame = '<rect width="18" height="18" x="3" y="3" rx="2"/>'

/** Icons of Lucide (ISC): square-kanban, square-terminal, shield-check. */
const points = [
  {
    icon: icon(`${frame}<path d="M8 7v7M12 7v4M16 7v9"/>`),
    title: 'Plan together',
    text: 'Board, list and plan, all by keyboard.',
  },
  {
    icon: icon(`${frame}<path d="m7 11 2-2-2-2M11 13h4"/>`),
    title: 'Agents take tasks',
    text: 'They claim, work, show evidence and ask when unsure.',
  },
  {
    icon: icon(
      '<path d="M20 13c0 5-3.5 7.5-7.66 8.95a1 1 0 0 1-.67-.01C7.5 20.5 4 18 4 13V6a1 1 0 0 1 1-1c2 0 4.5-1.2 6.24-2.72a1.17 1.17 0 0 1 1.52 0C14.51 3.81 17 5 19 5a1 1 0 0 1 1 1z"/><path d="m9 12 2 2 4-4"/>',
    ),
    title: 'Your data stays here',
    text: 'One program on your machine. It calls no other service until you connect one.',
  },
]

const point = ({ icon, title, text }: (typeof points)[number]): string =>
  `<li>${icon}<strong>${title}</strong><p class="soft small">${text}</p></li>`

/** What `/` is for visitors who are not signed in. It needs no script. */
export function frontPage({ version, host, operator, isOpen, theme }: FrontFacts): string {
  const attributes = theme ? ` data-theme="${html(theme)}"` : ''
  const register = isOpen ? '<a class="button quiet" href="/register">Create an account</a>' : ''
  return `<!doctype html><html lang="en"${attributes}>${pageHead('Tutti', 'front')}<body class="front">
<header>${wordmarkLink}<nav aria-label="Tutti">
<a class="wide" href="/manual">Manual</a><a class="wide" href="/api/reference">API</a>
<a class="button" href="/login">Sign in</a></nav></header>
<main>${staff(notes)}
<div class="hero"><h1>People and agents, <br>one plan</h1>
<p class="soft">Tutti holds the tasks, decisions and memory of a software team, and hands work to people and AI
agents alike. It runs on your own machine.</p>
<p class="enter"><a class="button" href="/login">Sign in</a>${register}</p>
<p class="soft small">This is <strong>${html(host)}</strong>${operator ? `, run by ${html(operator)}` : ''}.
${isOpen ? '' : 'New accounts need an invitation.'} Invited? Open the link in your mail.</p></div>
<ul class="points">${points.map(point).join('')}</ul></main>
<footer class="soft small"><span>Tutti ${html(version)}</span><a href="/manual">Manual</a>
<a href="/api/reference">API reference</a><a href="/manual/mcp">Connect an agent</a>
<a href="/health">Status</a></footer></html>`
}
