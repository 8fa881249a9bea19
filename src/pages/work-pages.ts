import { shell } from './pages.ts'

/**
 * Small pages for what only a person at a browser may do: review, override, allow self-review, make somebody an admin
 * or owner, see the link of an invite. They have the addresses of the future dashboard. Their script loads the data,
 * because only it can renew an expired sign-in.
 */
const page = (title: string): string =>
  shell(
    `${title} · Tutti`,
    `<div id="page"><h1>${title}</h1></div><noscript><p role="alert">This page needs JavaScript.</p></noscript>`,
    { script: '/assets/work.js' },
  )

export const workPages: Record<string, string> = {
  '/team': page('Team'),
  '/teams/:id': page('Team'),
}
