/** Renders stored Markdown. Raw HTML is shown as text, remote pictures become links, and the result is purified. */
import DOMPurify from 'dompurify'
import { Lexer, Marked, type Token } from 'marked'
import { type MouseEvent, useMemo } from 'react'
import { hasLongBlock, hasTooManyTags, limitMarkdown } from '../../../text/markdown-limits.ts'

interface Props {
  text: string
  /** The title of the page: a first heading that only repeats it is left out. */
  title?: string
  /** Addresses of the notes that `[[title]]` names, by title in lower case. */
  titles?: ReadonlyMap<string, string>
  /** Opens an address of this site without loading the page again. */
  onFollow?(path: string): void
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)

/** An uploaded file. Only such pictures are shown: any other would reveal the reader to its server. */
const own = /^(?:\/api)?\/uploads\/[0-9a-f-]{36}$/

/** Set while a text is parsed, which is synchronous. */
let titles: ReadonlyMap<string, string> | undefined

/** The parser is slow with emphasis and links in long paragraphs. No one writes paragraphs of this length. */
const LONGEST_PARAGRAPH = 5000

class BoundedLexer<P, R> extends Lexer<P, R> {
  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (src.length <= LONGEST_PARAGRAPH) return super.inlineTokens(src, tokens)
    tokens.push({ type: 'text', raw: src, text: src, escaped: false })
    return tokens
  }
}

/** The browser has to lay out every element at once. */
const MOST_TAGS = 20_000

/** One address can be named by many short links. After this many characters, links are shown as text. */
const MOST_OF_ADDRESSES = 1_000_000
/** The length of all addresses in the text that is being parsed. */
let addresses = 0
const isTooMuch = ({ href, title }: { href: string; title?: string | null }): boolean => {
  addresses += href.length + (title?.length ?? 0)
  return addresses > MOST_OF_ADDRESSES
}

const marked = new Marked({
  gfm: true,
  hooks: { provideLexer: () => (src: string, options) => new BoundedLexer(options).lex(src) },
  renderer: {
    html: ({ text }) => escaped(text),
    // `false`: as usual.
    link: (link) => isTooMuch(link) && escaped(link.text),
    image: (image) => {
      const { href, text } = image
      if (isTooMuch(image)) return escaped(text)
      return own.test(href)
        ? `<img src="${escaped(href)}" alt="${escaped(text)}" loading="lazy">`
        : `<a href="${escaped(href)}">${escaped(text || href)}</a>`
    },
  },
  extensions: [
    {
      name: 'title',
      level: 'inline',
      start: (text) => text.indexOf('[['),
      tokenizer: (text) => {
        const found = /^\[\[([^[\]\n]{1,200})\]\]/.exec(text)
        return found ? { type: 'title', raw: found[0], text: found[1] } : undefined
      },
      renderer: ({ text }) => {
        const path = titles?.get(String(text).trim().toLowerCase())
        return path ? `<a href="${escaped(path)}">${escaped(text)}</a>` : escaped(`[[${text}]]`)
      },
    },
  ],
})

const purifier = DOMPurify(window)
purifier.addHook('afterSanitizeAttributes', (node) => {
  if (node.nodeName === 'IMG' && !own.test(node.getAttribute('src') ?? '')) node.remove()
  if (node.nodeName !== 'A') return
  node.setAttribute('rel', 'noopener noreferrer nofollow')
  if (!isInside(node.getAttribute('href'))) node.setAttribute('target', '_blank')
})

const isInside = (href: string | null | undefined): href is string => /^\/(?!\/)/.test(href ?? '')

/** Returns the HTML of a text. One that would take seconds to parse or to show is shown as it was written. */
function parse(text: string): string {
  const source = () => `<pre>${escaped(text)}</pre>`
  if (hasLongBlock(text)) return source()
  addresses = 0
  const html = marked.parse(limitMarkdown(text), { async: false })
  return hasTooManyTags(html, MOST_TAGS) ? source() : html
}

function toHtml(text: string, named: Props['titles']) {
  titles = named
  return purifier.sanitize(parse(text), {
    RETURN_TRUSTED_TYPE: true,
    FORBID_TAGS: ['style', 'form', 'input', 'button', 'video', 'audio', 'svg', 'math'],
    FORBID_ATTR: ['style', 'class', 'id', 'srcset'],
  })
}

/** Returns the text without a first heading that is the title of the page. */
function withoutTitle(title: string | undefined, text: string): string {
  const [, heading, rest = ''] = /^#\s+(.+?)\s*(?:\n([\s\S]*))?$/.exec(text) ?? []
  return title !== undefined && heading === title ? rest : text
}

export function Markdown({ text, title, titles, onFollow }: Props) {
  const html = useMemo(() => toHtml(withoutTitle(title, text), titles), [title, text, titles])
  const follow = (event: MouseEvent<HTMLDivElement>) => {
    const href = event.target instanceof Element ? event.target.closest('a')?.getAttribute('href') : undefined
    const isPlain = !(event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0)
    if (!onFollow || !isPlain || !isInside(href) || own.test(href)) return
    event.preventDefault()
    onFollow(href)
  }
  return (
    // biome-ignore lint/a11y: the links inside are what is clicked, and keys reach them
    <div
      className="md"
      onClick={follow}
      // biome-ignore lint/security/noDangerouslySetInnerHtml: purified, and the browser accepts only purified markup
      dangerouslySetInnerHTML={{ __html: html }}
    />
  )
}
