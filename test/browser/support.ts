import { expect } from 'bun:test'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium,
  type Page,
} from 'playwright-core'
import { logged, type TestApp, unique } from '../support/app.ts'
import { json, PASSWORD, type Served, serve, tutti } from '../support/binary.ts'
import { atEnd } from '../support/cleanup.ts'
import { isShort } from '../support/thorough.ts'
import { runAxe } from './axe.ts'

export { thorough } from '../support/thorough.ts'

/** The shell without windows takes a third less CPU time. */
const executablePath = Bun.which('chromium-headless-shell') ?? '/usr/bin/chromium'
let running: Promise<Browser> | undefined
/** One for all test files; people keep apart by contexts. */
function browser(): Promise<Browser> {
  running ??= chromium
    .launch({
      executablePath,
      timeout: 120_000,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-sync',
      ],
    })
    .then((launched) => {
      atEnd(() => launched.close())
      return launched
    })
  return running
}

/** A browser of its own for one person. A machine may be so busy that the limits of Playwright are too short. */
export async function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await (await browser()).newContext(options)
  context.setDefaultTimeout(60_000)
  return context
}

let serving: Promise<Served> | undefined
/** The binary with limits out of the way; people keep apart by their addresses. */
export function server(): Promise<Served> {
  const most = '1000000'
  const limits = {
    RATE_LIMIT_REGISTER: most,
    RATE_LIMIT_MAIL: most,
    RATE_LIMIT_LOGIN: most,
    RATE_LIMIT_ANONYMOUS: most,
    RATE_LIMIT_DEVICE: most,
  }
  serving ??= serve({ env: { ...limits, LOG_LEVEL: 'debug' } }).then((served) => {
    atEnd(() => served.stop())
    return served
  })
  return serving
}

const secretText = /svc_[A-Za-z0-9_]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}/
/** The secret, but not six digits that an id happens to contain. */
const whole = (secret: string): RegExp => new RegExp(`(?<!\\w)${RegExp.escape(secret)}(?!\\w)`)
/** The one address that the API takes a secret in. */
const inviteAnswer = /^\/api\/invites\/svc_inv_\w+\/(accept|decline)$/

/** A running server, and what it has logged. */
type Place = Pick<Served, 'url' | 'output'>

interface Account {
  email: string
  name: string
  token: string
}

/** A person with a browser of their own, which records whatever must not happen in it. */
export class Visitor {
  /** What a page should never do. */
  readonly trouble: string[] = []
  /** Requests that were refused, as `POST /api/auth/login 401`. */
  readonly refused: string[] = []
  /** Codes, passwords and the like, which no address may hold. */
  readonly secrets: string[] = [PASSWORD]
  readonly asked: URL[] = []
  /** How much was logged before. Earlier visitors have searched it. */
  private readonly loggedBefore: number

  private constructor(
    readonly at: Place,
    readonly context: BrowserContext,
    readonly page: Page,
  ) {
    this.loggedBefore = at.output().length
  }

  /** Opens a browser at the given server (default: the shared one). */
  static async open({ at, ...options }: BrowserContextOptions & { at?: Place } = {}): Promise<Visitor> {
    const context = await newContext(options)
    const visitor = new Visitor(at ?? (await server()), context, await context.newPage())
    visitor.watch(visitor.page)
    return visitor
  }

  get url(): string {
    return this.at.url
  }

  watch(page: Page): Page {
    page.on('pageerror', (error) => void this.trouble.push(error.message))
    page.on('console', (message) => {
      // Each one is also seen as a response, and listed there.
      const refused = message.text().startsWith('Failed to load resource: the server responded')
      if (message.type() === 'error' && !refused) this.trouble.push(message.text())
    })
    page.on('dialog', (dialog) => {
      this.trouble.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('request', (request) => {
      const url = new URL(request.url())
      this.asked.push(url)
      if (url.origin !== this.url) this.trouble.push(`asked ${url.origin}`)
      if (request.headers().referer) this.trouble.push(`told ${url.pathname} where it came from`)
    })
    page.on('response', (response) => {
      if (response.status() < 400) return
      this.refused.push(`${response.request().method()} ${new URL(response.url()).pathname} ${response.status()}`)
    })
    return page
  }

  goto = (path: string) => this.page.goto(this.url + path)
  section = (title: string) =>
    this.page.locator('section', { has: this.page.getByRole('heading', { name: title, exact: true }) })
  button = (name: string) => this.page.getByRole('button', { name, exact: true })
  focused = () => this.page.locator(':focus')
  me = async () =>
    ((await (await this.context.request.get(`${this.url}/api/auth/me`)).json()) as { email?: string }).email

  teams = async () => {
    const answer = await this.context.request.get(`${this.url}/api/teams`)
    return ((await answer.json()) as { items: { name: string }[] }).items.map(({ name }) => name)
  }

  async fill(values: Record<string, string>): Promise<void> {
    for (const [name, value] of Object.entries(values)) await this.page.locator(`[name=${name}]`).fill(value)
  }

  /** Sends the form that is being filled in. Before the page's script has let its button go, Enter would do nothing. */
  async enter(): Promise<void> {
    await this.page.locator('form:focus-within button:enabled').first().waitFor()
    await this.page.keyboard.press('Enter')
  }

  /** Whatever `text` is about has come. */
  see = (text: string | RegExp) => this.page.getByText(text).first().waitFor()

  /** A new account without going through the pages; this browser is signed in to it. */
  async register(name: string, email = fresh(name)): Promise<Account> {
    const answer = await this.context.request.post(`${this.url}/api/auth/register`, {
      data: { email, name, password: PASSWORD },
    })
    expect(answer.status()).toBe(201)
    return { email, name, token: ((await answer.json()) as { token: string }).token }
  }

  /** An authenticator that the browser plays itself. */
  async authenticator(): Promise<CDPSession> {
    const cdp = await this.context.newCDPSession(this.page)
    await cdp.send('WebAuthn.enable')
    const yes = {
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    }
    await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: { protocol: 'ctap2', ctap2Version: 'ctap2_1', transport: 'internal', ...yes },
    })
    return cdp
  }

  /** Nothing happened but what the test names, and no secret is left where others could find it. */
  async leave(...refused: string[]): Promise<void> {
    const kept = await this.page.evaluate<string>(
      'location.href + JSON.stringify(sessionStorage) + JSON.stringify(localStorage) + document.cookie',
    )
    await this.context.close()
    expect(this.trouble).toEqual([])
    expect(this.refused).toEqual(refused)
    expect(kept).not.toMatch(secretText)
    for (const { pathname, search } of this.asked) {
      const address = decodeURIComponent(pathname + search)
      if (!inviteAnswer.test(pathname)) expect(address).not.toMatch(secretText)
      for (const secret of this.secrets) expect(address).not.toMatch(whole(secret))
    }
    const own = this.at.output().slice(this.loggedBefore)
    const logged = own.replace(/setup#\S+/, '')
    expect(logged).not.toMatch(secretText)
    for (const secret of this.secrets) expect(logged).not.toMatch(whole(secret))
  }
}

let people = 0
export const fresh = (name: string): string => `${name.toLowerCase().replace(/\W+/g, '-')}-${++people}@example.com`

interface Mail {
  to: string
  kind: string
  text: string
}

/** Read on the machine itself, as on an instance without a mail server. */
async function mailTo(email: string, kind: string): Promise<string> {
  const { out, err } = await tutti(['outbox', '--json', '--data-dir', (await server()).dir])
  const { items } = JSON.parse(out || '{"items":[]}') as { items: Mail[] }
  const found = items.find((mail) => mail.to === email && mail.kind.startsWith(kind))
  if (!found) throw new Error(`no ${kind} for ${email} in the outbox ${out.slice(0, 2000)}${err}`)
  return found.text
}

/** The part that the page needs: path and secret. */
export async function linkTo(email: string, kind: string): Promise<string> {
  const [, path] = /^http:\/\/localhost:\d+(\/[\w-]+#\S+)$/m.exec(await mailTo(email, kind)) ?? []
  if (!path) throw new Error(`no link in the ${kind} to ${email}`)
  return path
}

export async function codeTo(email: string): Promise<string> {
  const [, code] = /^ +(\d{6})$/m.exec(await mailTo(email, 'code')) ?? []
  if (!code) throw new Error(`no code in the mail to ${email}`)
  return code
}

export async function api<T = Record<string, unknown>>(
  method: string,
  path: string,
  body?: object,
  token?: string,
): Promise<T> {
  const answer = await fetch((await server()).url + path, json(method, body, token))
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

// ---- the dashboard, in front of an app in this process

/** Opens a browser that is signed in as the person with this address. */
export async function signedIn(t: TestApp, email: string, options: BrowserContextOptions = {}): Promise<Visitor> {
  const at = { url: t.app.url, output: () => logged.join('') }
  const visitor = await Visitor.open({ at, locale: 'en-GB', ...options })
  const answer = await visitor.context.request.post(`${t.app.url}/api/auth/login`, {
    data: { email, password: PASSWORD },
    headers: { origin: t.app.url },
  })
  expect(answer.status()).toBe(200)
  return visitor
}

/** Calls the API as the visitor is signed in, without their page. Fails unless it succeeds. */
export async function call<T>(who: Visitor, method: string, path: string, data?: object): Promise<T> {
  const answer = await who.context.request.fetch(who.url + path, { method, data, headers: { origin: who.url } })
  if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${await answer.text()}`)
  return (await answer.json()) as T
}

export interface Made {
  id: string
  key: string
  slug: string
}
export const newProject = (who: Visitor, name = unique('Lantern')): Promise<Made> =>
  call<Made>(who, 'POST', '/api/projects', { name })
export const newTask = (who: Visitor, slug: string, task: object): Promise<Made> =>
  call<Made>(who, 'POST', `/api/projects/${slug}/tasks`, task)
/** The name in addresses of the visitor's current team. */
export const teamOf = async (who: Visitor): Promise<string> =>
  (await call<{ slug: string }>(who, 'GET', '/api/team')).slug

/**
 * Waits for the live connection, before a test moves the clock: its ticket would be too old by then. On a phone nothing
 * tells of it, so it is attached only.
 */
export const isLive = (who: Visitor): Promise<void> =>
  who.page.getByText('Live', { exact: true }).waitFor({ state: 'attached' })

/** Text that would run, load or lead somewhere if a page showed it as anything but text. */
export const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>[x](javascript:alert(3))'

/**
 * Opens the page, waits for what `shown` selects, and checks what holds for every page: one first heading, a title, no
 * sideways scrolling, nothing of what people stored became markup, and axe finds nothing. The contrast of the dark
 * colours is checked only at night (`test/run --nightly`), that of the light ones with `--full`.
 */
export async function expectSound(who: Visitor, path: string, shown: string): Promise<void> {
  const isDark = (await who.page.evaluate('matchMedia("(prefers-color-scheme: dark)").matches')) as boolean
  if (isDark || isShort) await goWithin(who, path)
  else await who.goto(path)
  await who.page.locator(shown).first().waitFor()
  const found = await runAxe(who.page, { colours: !isDark || Boolean(process.env.NIGHTLY) })
  expect({ path, found }).toEqual({ path, found: [] })
  expect({ path, h1: await who.page.locator('h1').count() }).toEqual({ path, h1: 1 })
  expect(await who.page.title()).toMatch(/ · Tutti$/)
  expect({ path, fits: await who.page.evaluate('document.documentElement.scrollWidth <= innerWidth') }).toEqual({
    path,
    fits: true,
  })
  const markup = who.page.locator('#root').locator('img[src=x], script, a[href^=javascript]')
  expect({ path, markup: await markup.count() }).toEqual({ path, markup: 0 })
}

/**
 * Goes to another page of the dashboard as a link does. With `--full` each page is loaded anew in the light look; to do
 * that again would only compile the same scripts. A page that does not exist is visited in between, so that nothing of the page
 * before is taken for the new one.
 */
async function goWithin({ page, goto }: Visitor, path: string): Promise<void> {
  if ((await page.locator('#root main').count()) === 0) return void (await goto(path))
  const go = (to: string) => page.evaluate(`history.pushState({}, '', ${JSON.stringify(to)})`)
  const nothing = page.getByText('Page not found')
  await go('/none')
  await nothing.waitFor()
  await go(path)
  await nothing.waitFor({ state: 'detached' })
}

interface Look {
  colorScheme: 'light' | 'dark'
  viewport: { width: number; height: number }
}
const light: Look = { colorScheme: 'light', viewport: { width: 1280, height: 800 } }
const dark: Look = { colorScheme: 'dark', viewport: { width: 320, height: 800 } }
/** Light and wide, then dark and narrow: each page is looked at in both. `./test/run` leaves the second to `--full`. */
export const looks: readonly Look[] = isShort ? [light] : [light, dark]

/**
 * Does the work in one look after the other, in the same browser: one that is new reads and compiles all scripts anew.
 * No page is open when a look begins, so nothing of the other look is left. At the end the first look is back.
 */
export async function inEachLook({ page }: Visitor, work: (look: Look) => Promise<void>): Promise<void> {
  const change = async ({ colorScheme, viewport }: Look) => {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize(viewport)
  }
  for (const look of looks) {
    await page.goto('about:blank')
    await change(look)
    await work(look)
  }
  await change(light)
}
