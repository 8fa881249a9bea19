import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { isShort } from '../support/thorough.ts'

const source = readFileSync(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir), 'utf8')

interface Violation {
  id: string
  nodes: { target: string[]; any: { message: string }[] }[]
}

/** What `runAxe` finds on a page in the middle of a journey. `./test/run` leaves that to `--full`. */
export const axe = async (page: Page, options = {}): Promise<string[]> => (isShort ? [] : runAxe(page, options))

/**
 * What axe finds wrong on the page (WCAG 2.2 AA and best practice). It runs outside the page's content policy. Only what
 * is wrong is described and sent: to describe every element that is right took half of the time. Without `colours`, and
 * in a short run, the contrast is left out, which takes most of the time.
 */
export async function runAxe(page: Page, { colours = true } = {}): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(source)
  const found = (await page.evaluate(
    `axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      resultTypes: ['violations'],
      rules: { 'color-contrast': { enabled: ${colours && !isShort} } },
    }).then(({ violations }) => violations)`,
  )) as Violation[]
  const lines: string[] = []
  for (const { id, nodes } of found)
    for (const { target, any } of nodes) {
      const message = any[0]?.message ?? ''
      const isCovered = id === 'target-size' && message.includes('obscured')
      if (!isCovered || (await isCoveredInView(page, target.join(' '))))
        lines.push(`${id}: ${target.join(' ')} ${message}`)
    }
  return lines
}

/** What lies under a bar at the edge of a scrolling area is in reach once it is scrolled. */
const isCoveredInView = (page: Page, target: string): Promise<boolean> =>
  page.evaluate(
    `(document.querySelector(${JSON.stringify(target)})?.scrollIntoView({ block: 'center' }),
      axe.run(${JSON.stringify(target)}, { runOnly: { type: 'rule', values: ['target-size'] } })
        .then(({ violations }) => violations.length > 0))`,
  )
