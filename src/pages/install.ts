import { paths } from '../paths.ts'
import { assets, pageShell } from './pages.ts'
import workerScript from './scripts/worker.js' with { type: 'text' }

/** What lets a browser install the dashboard as an app: the manifest, the service worker and its offline page. */

const icon = (file: string, size: number, purpose = 'any') => ({
  src: `/icons/${file}.png`,
  sizes: `${size}x${size}`,
  type: 'image/png',
  purpose,
})
const shortcut = (name: string, url: string) => ({ name, url, icons: [icon('tutti-192-1', 192)] })

export const manifest = JSON.stringify({
  id: '/',
  name: 'Tutti',
  description: 'People and AI agents plan and do software work together.',
  start_url: '/',
  scope: '/',
  display: 'standalone',
  background_color: '#f8f7f9',
  theme_color: '#f1f0f3',
  icons: [
    icon('tutti-192-1', 192),
    icon('tutti-512-1', 512),
    icon('tutti-maskable-512-1', 512, 'maskable'),
    { src: '/assets/icon.svg', sizes: 'any', type: 'image/svg+xml', purpose: 'any' },
  ],
  shortcuts: [shortcut('Inbox', '/inbox'), shortcut('Now', '/now'), shortcut('Projects', '/projects')],
})

/** The link has no address, so it opens the page that was wanted. */
export const offlinePage = pageShell(
  'You are offline · Tutti',
  `<h1>You are offline</h1><p class="lead">This device cannot reach the server. The page opens as soon as it can.</p>
<p class="row"><a class="button" href="">Try again</a></p>`,
  { script: '/assets/offline.js', kind: 'enter' },
)

/** What the service worker stores. The first is the page itself. */
const files = ['/offline', '/assets/tutti.css', '/assets/enter.css', '/assets/offline.js', '/assets/icon.svg']
/** The first part of each address of the dashboard: the service worker leaves all other pages alone. */
const areas = [...new Set(paths.map((path) => path.split('/')[1]))]
/** Changes with every file, so that browsers store the new ones. */
const version = Bun.hash([offlinePage, ...files.map((path) => assets[path.slice(8)]?.body)].join()).toString(36)

export const serviceWorker = `self.offlineFiles = ${JSON.stringify({ cacheName: `tutti-${version}`, files, areas })}
${workerScript}`
