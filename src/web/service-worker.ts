/** The service worker: it shows a page while the server cannot be reached, and push notifications. */

/** When the page has loaded, so that the worker's files do not delay those of the page. */
const DELAY = 2000

interface Policy {
  createScriptURL(text: string): string
}
/** Chromium and newer browsers have it. What a policy returns is accepted in place of a text. */
interface TrustedTypes {
  trustedTypes?: { createPolicy(name: string, rules: Policy): Policy }
}

/** The only policy that may name a script; it names one. */
const createScriptURL = () => '/worker.js'

export function registerServiceWorker(): void {
  // Browsers have service workers only on HTTPS and localhost.
  if (!('serviceWorker' in navigator)) return
  const { trustedTypes } = window as Window & TrustedTypes
  const policy = trustedTypes?.createPolicy('tutti-worker', { createScriptURL })
  const script = policy?.createScriptURL('') ?? createScriptURL()
  window.addEventListener('load', () =>
    // Without it, the dashboard works as before.
    setTimeout(() => void navigator.serviceWorker.register(script).catch(() => undefined), DELAY),
  )
}

/** Deletes everything that the service worker stored, and ends push notifications on this device. */
export async function clearDevice(): Promise<void> {
  try {
    for (const name of await caches.keys()) await caches.delete(name)
    const registration = await navigator.serviceWorker.getRegistration()
    for (const shown of (await registration?.getNotifications()) ?? []) shown.close()
    await (await registration?.pushManager.getSubscription())?.unsubscribe()
  } catch {
    // A browser without them has stored nothing.
  }
}
