/** Visits of pages in Chromium, and what they cost. */
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page, type Request } from 'playwright-core'

/** A server with a person who can sign in. */
export interface Site {
  url: string
  email: string
  password: string
}

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: Bun.which('chromium-headless-shell') ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })

/** Milliseconds of CPU time of the main thread: until the page is ready, and for what is done then. */
export interface Cost {
  cpu: number
  after: number
}

/** Returns what is to be done once the page is ready, if anything is. */
export type Visit = (page: Page) => Promise<(() => Promise<void>) | undefined>

export async function open(page: Page, address: string, shown: string): Promise<undefined> {
  await page.goto(address)
  await page.locator(shown).first().waitFor()
  await page.waitForLoadState('networkidle')
  return undefined
}

export async function inPage(
  browser: Browser,
  visit: Visit,
  prepare?: (context: BrowserContext) => Promise<void>,
): Promise<Cost> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  try {
    await prepare?.(context)
    const page = await context.newPage()
    const cdp = await context.newCDPSession(page)
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
    const spent = async () => {
      const { metrics } = await cdp.send('Performance.getMetrics')
      return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000
    }
    const act = await visit(page)
    const cost: Cost = { cpu: await spent(), after: 0 }
    if (act) {
      await act()
      cost.after = (await spent()) - cost.cpu
    }
    return cost
  } finally {
    await context.close()
  }
}

export const signedIn = (browser: Browser, { url, email, password }: Site, visit: Visit): Promise<Cost> =>
  inPage(browser, visit, async (context) => {
    const answer = await context.request.post(`${url}/api/auth/login`, {
      data: { email, password },
      headers: { origin: url },
    })
    if (!answer.ok()) throw new Error(await answer.text())
  })

/** A response that the page received: its address, and its bytes with headers as they came over the wire. */
export interface Transfer {
  path: string
  bytes: number
}

/** What a page received in a browser that had stored nothing. */
interface Received {
  /** Until it was complete. */
  all: Transfer[]
  /** What it had asked for when its content was seen; some of it may be loaded ahead. */
  first: Transfer[]
}

export async function transfersOf(browser: Browser, site: Site, path: string, shown: string): Promise<Received> {
  const all: Transfer[] = []
  const asked = new Set<string>()
  await signedIn(browser, site, async (page) => {
    recordTransfers(await page.context().newCDPSession(page), all)
    const add = (request: Request) => asked.add(request.url().slice(site.url.length))
    page.on('request', add)
    await page.goto(site.url + path)
    await page.locator(shown).first().waitFor()
    page.off('request', add)
    await page.waitForLoadState('networkidle')
    return undefined
  })
  return { all, first: all.filter((transfer) => asked.has(transfer.path)) }
}

export function recordTransfers(cdp: CDPSession, found: Transfer[]): void {
  const paths = new Map<string, string>()
  cdp.on('Network.requestWillBeSent', ({ requestId, request }) => {
    const { pathname, search } = new URL(request.url)
    paths.set(requestId, pathname + search)
  })
  cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) =>
    found.push({ path: paths.get(requestId) ?? '', bytes: encodedDataLength }),
  )
  void cdp.send('Network.enable')
}
