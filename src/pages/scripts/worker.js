// The service worker of the dashboard. It stores the page that is shown while the server cannot be reached, and the
// files of that page: never a response of the API, and no page with anyone's data.
const { cacheName, files, areas } = self.offlineFiles
const [offlinePage] = files

/** Stores the files, also after a sign-out or the browser has deleted them. */
async function fill() {
  const cache = await caches.open(cacheName)
  if (!(await cache.match(offlinePage))) await cache.addAll(files)
}

async function prepare() {
  for (const name of await caches.keys()) if (name !== cacheName) await caches.delete(name)
  // Otherwise each navigation would wait until this script runs.
  await self.registration.navigationPreload?.enable()
}

const stored = async (path) => (await caches.match(path)) ?? Response.error()

async function pageOf(event) {
  try {
    const response = (await event.preloadResponse) ?? (await fetch(event.request))
    event.waitUntil(fill().catch(() => undefined))
    return response
  } catch {
    return stored(offlinePage)
  }
}

self.addEventListener('install', (event) => {
  self.skipWaiting()
  event.waitUntil(fill())
  // Where browsers have it: calls of the API do not even start this script.
  event.addRoutes?.({ condition: { urlPattern: new URLPattern({ pathname: '/api/*' }) }, source: 'network' })
})

self.addEventListener('activate', (event) => event.waitUntil(prepare()))

self.addEventListener('fetch', (event) => {
  const { method, mode, url } = event.request
  const { origin, pathname } = new URL(url)
  if (method !== 'GET' || origin !== location.origin) return
  if (mode === 'navigate') {
    if (areas.includes(pathname.split('/')[1])) event.respondWith(pageOf(event))
  } else if (files.includes(pathname)) event.respondWith(fetch(event.request).catch(() => stored(pathname)))
})

// ---- push notifications

self.addEventListener('push', (event) => {
  const { title = 'Tutti', body = '', path = '/inbox', tag = '' } = event.data?.json() ?? {}
  const look = { icon: '/icons/tutti-192-1.png', badge: '/icons/tutti-badge-96-1.png' }
  // A newer notification about the same record replaces the older one, and is announced again.
  const place = tag && { tag, renotify: true }
  event.waitUntil(self.registration.showNotification(title, { body, data: { path }, ...look, ...place }))
})

/** Shows the page in the window that has it open, or in a new one: text in other windows must not be lost. */
async function openPage(path) {
  const url = new URL(path, location.origin)
  const { href } = url.origin === location.origin ? url : new URL('/inbox', location.origin)
  const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  const open = windows.find((one) => one.url === href)
  return open ? open.focus() : self.clients.openWindow(href)
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(openPage(event.notification.data.path))
})
