/**
 * Takes the pictures of the README from the demo, whose clock stands still: `bun run pictures`. It needs the built
 * binary and Chromium.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'

const root = join(import.meta.dir, '../..')
const at = '2026-03-12T14:30:00Z'
const port = 4243

/** The name of each picture, and how to get to what it shows. */
const scenes: Record<string, (page: Page, base: string) => Promise<unknown>> = {
  board: (page, base) => page.goto(`${base}/projects/lantern/tasks`),
  now: (page, base) => page.goto(`${base}/now`),
  task: (page, base) => page.goto(`${base}/projects/lantern/tasks?view=list&open=LAN-42`),
  replay: async (page, base) => {
    await page.goto(`${base}/sessions`)
    await page.locator('main a[href^="/sessions/"]').first().click()
    await page.waitForURL(/\/sessions\/./)
  },
}

const data = mkdtempSync(join(tmpdir(), 'tutti-pictures-'))
const server = Bun.spawn(
  [join(root, 'dist/tutti'), 'serve', '--demo', '--at', at, '--port', String(port), '--data-dir', join(data, 'demo')],
  { stdout: 'pipe', stderr: 'inherit' },
)
try {
  await takePictures(await signInLink())
} finally {
  server.kill()
  await server.exited
  rmSync(data, { recursive: true, force: true })
}

/** Waits for the link that the demo prints when it is ready. */
async function signInLink(): Promise<URL> {
  let said = ''
  for await (const chunk of server.stdout.pipeThrough(new TextDecoderStream())) {
    said += chunk
    const link = /^ +(http\S+#\S+)$/m.exec(said)?.[1]
    if (link) return new URL(link)
  }
  throw new Error('The demo ended before it was ready. Run: bun run build')
}

async function takePictures(link: URL): Promise<void> {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  try {
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      timezoneId: 'UTC',
      locale: 'en-GB',
    })
    const page = await context.newPage()
    const blank = await context.newPage()
    await page.clock.setFixedTime(at)
    await page.goto(link.href)
    await page.getByRole('button').first().click()
    await page.waitForURL((url) => !url.pathname.startsWith('/magic'))
    const out = join(root, 'docs')
    mkdirSync(out, { recursive: true })
    for (const theme of ['light', 'dark'] as const) {
      await context.addCookies([{ name: 'theme', value: theme, url: link.origin }])
      for (const [name, open] of Object.entries(scenes)) {
        await open(page, link.origin)
        await page.locator('main h1').first().waitFor()
        // Who is here comes last, by the live connection.
        await page.locator('.crowd').waitFor()
        await page.waitForLoadState('networkidle')
        await Bun.write(join(out, `${name}-${theme}.webp`), await toWebp(blank, await page.screenshot()))
      }
    }
  } finally {
    await browser.close()
  }
}

/** Returns the picture at half the size of the PNG, made by the browser itself. */
async function toWebp(blank: Page, png: Buffer): Promise<Buffer> {
  const data = await blank.evaluate<string>(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${png.toString('base64')}'
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = image.naturalWidth
    canvas.height = image.naturalHeight
    canvas.getContext('2d').drawImage(image, 0, 0)
    return canvas.toDataURL('image/webp', 0.9)
  })()`)
  return Buffer.from(data.slice(data.indexOf(',') + 1), 'base64')
}
