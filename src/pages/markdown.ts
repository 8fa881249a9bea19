import type { IOptions } from 'sanitize-html'

/** Loaded with the first text: most instances have no public page. */
let loading: Promise<{ default: typeof import('sanitize-html') }> | undefined

/** Put before ids, so that a text cannot take the name of anything else on its page. */
const PREFIX = 'md-'
const UPLOAD = /^\/uploads\/[0-9a-f-]{36}$/

/** The title of the page is its only first heading. */
const lower = (level: number): string => `h${Math.min(6, level + 1)}`

const options = (byUsers: boolean): IOptions => ({
  allowedTags: [
    ...['h2', 'h3', 'h4', 'h5', 'h6', 'p', 'blockquote', 'pre', 'code', 'hr', 'br', 'ul', 'ol', 'li', 'dl', 'dt', 'dd'],
    ...['a', 'em', 'strong', 'b', 'i', 'u', 'del', 's', 'sub', 'sup', 'kbd', 'img'],
    ...['table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  allowedAttributes: {
    a: ['href', 'title', 'rel'],
    img: ['src', 'alt', 'title', 'loading'],
    h2: ['id'],
    h3: ['id'],
    h4: ['id'],
    h5: ['id'],
    h6: ['id'],
    ol: ['start'],
  },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowProtocolRelative: false,
  disallowedTagsMode: 'discard',
  // A picture from elsewhere would tell its host who reads the page.
  exclusiveFilter: ({ tag, attribs }) => tag === 'img' && !UPLOAD.test(attribs.src ?? ''),
  transformTags: {
    ...Object.fromEntries(
      [1, 2, 3, 4, 5, 6].map((level) => [
        `h${level}`,
        (_: string, { id }: Record<string, string>) => ({
          tagName: lower(level),
          attribs: id ? { id: PREFIX + id } : {},
        }),
      ]),
    ),
    a: (tagName, { href = '', title }) => ({
      tagName,
      attribs: {
        href: href.startsWith('#') ? `#${PREFIX}${href.slice(1)}` : href,
        ...(title && { title }),
        rel: byUsers ? 'nofollow ugc noopener' : 'noopener',
      },
    }),
    img: (tagName, { src = '', alt = '', title }) => ({
      tagName,
      attribs: { src, alt, ...(title && { title }), loading: 'lazy' },
    }),
  },
})

/**
 * Returns safe HTML of a Markdown text. HTML inside the text is shown as text. What the renderer makes is filtered
 * again by a list of tags and attributes, because a renderer promises nothing about links such as `javascript:`.
 * `byUsers`: the text is not by an administrator, so search engines are told not to follow its links.
 */
export async function safeHtml(markdown: string, byUsers: boolean): Promise<string> {
  loading ??= import('sanitize-html')
  const { default: sanitize } = await loading
  const html = Bun.markdown.html(markdown, {
    noHtmlBlocks: true,
    noHtmlSpans: true,
    wikiLinks: true,
    headings: { ids: true },
  })
  return sanitize(html, options(byUsers))
}

const MOST_CHARACTERS = 16_000_000
const kept = new Map<string, string>()
let characters = 0

/** Like `safeHtml`, from memory if the text was rendered before. `key` names the version of the text. */
export async function keptHtml(key: string, markdown: string, byUsers: boolean): Promise<string> {
  const known = kept.get(key)
  if (known !== undefined) return known
  const html = await safeHtml(markdown, byUsers)
  if (html.length > MOST_CHARACTERS / 8) return html
  if (!kept.has(key)) {
    kept.set(key, html)
    characters += html.length
  }
  for (const [oldest, text] of kept) {
    if (characters <= MOST_CHARACTERS) break
    kept.delete(oldest)
    characters -= text.length
  }
  return html
}
