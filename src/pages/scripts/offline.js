// The page that the service worker shows while the server cannot be reached. It opens the wanted page once it can.
const PAUSE = 3000

const [, theme] = /(?:^|;\s*)theme=(light|dark)\b/.exec(document.cookie) ?? []
if (theme) document.documentElement.dataset.theme = theme

async function retry() {
  const response = document.hidden ? undefined : await fetch('/health/live').catch(() => undefined)
  if (!response?.ok) return
  if (location.pathname === '/offline') location.replace('/')
  else location.reload()
}

addEventListener('online', retry)
document.addEventListener('visibilitychange', retry)
setInterval(retry, PAUSE)
