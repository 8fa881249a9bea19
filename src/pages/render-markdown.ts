import { hasTooManyTags, limitMarkdown } from '../text/markdown-limits.ts'
import { filterHtml } from './filter-html.ts'

/** Above this, the parser would spend most of its time on looking for wiki links. */
const MOST_WIKI_LINKS = 2_000

/** Returns how often `[[` occurs, up to one more than the limit. */
function countBracketPairs(text: string): number {
  let pairs = 0
  for (let at = text.indexOf('[['); at >= 0 && pairs <= MOST_WIKI_LINKS; at = text.indexOf('[[', at + 2)) pairs++
  return pairs
}

/**
 * Returns safe HTML of a Markdown text. HTML inside the text is shown as text. What the renderer makes is filtered
 * again, because a renderer promises nothing about links such as `javascript:`. The size of the text and the limits
 * bound the time: a text whose HTML is too large is shown as it was written.
 */
export function renderMarkdown(markdown: string, byUsers: boolean): string {
  const html = Bun.markdown.html(limitMarkdown(markdown), {
    noHtmlBlocks: true,
    noHtmlSpans: true,
    wikiLinks: countBracketPairs(markdown) <= MOST_WIKI_LINKS,
    headings: { ids: true },
  })
  return hasTooManyTags(html) ? sourceHtml(markdown) : filterHtml(html, byUsers)
}

export const sourceHtml = (text: string): string => `<pre>${Bun.escapeHTML(text)}</pre>`
