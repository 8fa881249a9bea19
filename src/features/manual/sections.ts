import { findWord } from '../../pages/docs.ts'
import type { ManualHit, ManualPage } from './schema.ts'

/** The part of a page under one heading, which a search returns as one hit. */
interface Section {
  page: ManualPage
  /** Null for the text before the first heading below the title. */
  heading: string | null
  anchor: string | null
  text: string
  /** Heading and text in lower case. */
  lower: string
}

/** Returns a page as HTML. Its headings have ids, and links between pages lead to their addresses. */
export const htmlOf = ({ content }: { content: string }): string =>
  Bun.markdown.html(content, { headings: { ids: true } }).replace(/href="([a-z]+)"/g, 'href="/manual/$1"')

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const textOf = (markup: string): string =>
  markup
    .replace(/<\/?(a|code|em|strong)\b[^>]*>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(#?\w+);/g, (whole, name: string) => entities[name] ?? whole)
    .replace(/\s+/g, ' ')
    .trim()

export function sectionsOf(page: ManualPage): Section[] {
  const [intro = '', ...rest] = htmlOf(page).split(/(?=<h[23] id=)/)
  const section = (heading: string | null, anchor: string | null, markup: string): Section => {
    const text = textOf(markup)
    return { page, heading, anchor, text, lower: `${page.title} ${heading ?? ''} ${text}`.toLowerCase() }
  }
  return [
    section(null, null, intro.replace(/<h1.*?<\/h1>/s, '')),
    ...rest.map((part) => {
      const [whole = '', , anchor = '', heading = ''] = /^<h([23]) id="([^"]*)">(.*?)<\/h\1>/s.exec(part) ?? []
      return section(textOf(heading), anchor, part.slice(whole.length))
    }),
  ]
}

const EXCERPT = 180
const MOST = 20

/** Returns the sections in which every word occurs; those that name a word in their title or heading come first. */
export function searchIn(sections: readonly Section[], query: string): ManualHit[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8)
  const rank = ({ page, heading }: Section): number => {
    const names = `${page.title} ${heading ?? ''}`.toLowerCase()
    return words.filter((word) => findWord(names, word) >= 0).length
  }
  return sections
    .filter(({ lower }) => words.length > 0 && words.every((word) => findWord(lower, word) >= 0))
    .toSorted((a, b) => rank(b) - rank(a))
    .slice(0, MOST)
    .map(({ page: { id, title }, heading, anchor, text }) => ({
      id,
      title,
      heading,
      anchor,
      excerpt: excerptOf(text, words),
    }))
}

/** Returns the text around the first word that occurs in it. */
function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase()
  const found = words.map((word) => findWord(lower, word)).filter((at) => at >= 0)
  const at = Math.max(0, Math.min(...found, text.length) - EXCERPT / 3)
  const from = found.length === 0 || at === 0 ? 0 : text.indexOf(' ', at) + 1
  const piece = text.slice(from, from + EXCERPT)
  const end = from + EXCERPT < text.length ? piece.lastIndexOf(' ') : piece.length
  return `${from > 0 ? '… ' : ''}${piece.slice(0, end)}${from + EXCERPT < text.length ? ' …' : ''}`
}
