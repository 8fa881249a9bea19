import { hasTooManyTags, limitMarkdown } from '../text/markdown-limits.ts'
import { filterHtml } from './filter-html.ts'

/**
 * Returns safe HTML of a Markdown text. HTML inside the text is shown as text. What the renderer makes is filtered
 * again, because a renderer promises nothing about links such as `javascript:`. The size of the text and the limits
 * bound the time: a text whose HTML is too large is shown as it was written.
 */
export function renderMarkdown(markdown: string, byUsers: boolean): string {
  const html = Bun.markdown.html(limitMarkdown(markdown), {
    noHtmlBlocks: true,
    noHtmlSpans: true,
    wikiLinks: true,
    headings: { ids: true },
  })
  return hasTooManyTags(html) ? showSource(markdown) : filterHtml(html, byUsers)
}

export const showSource = (text: string): string => `<pre>${Bun.escapeHTML(text)}</pre>`
