/** Stored text as Markdown. Raw HTML is shown as text, remote pictures become links, and what is left is purified. */
import DOMPurify from 'dompurify'
import { Marked } from 'marked'
import { type MouseEvent, useMemo } from 'react'

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

/** A file that was uploaded here. Only such pictures are shown: any other would tell its server who reads. */
const own = /^(?:\/api)?\/uploads\/[0-9a-f-]{36}$/

/** Set while a text is being parsed, which happens at once. */
let titles: ReadonlyMap<string, string> | undefined

const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) =>
      own.test(href)
        ? `<img src="${escaped(href)}" alt="${escaped(text)}" loading="lazy">`
        : `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
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

function toHtml(text: string, named: Props['titles']) {
  titles = named
  return purifier.sanitize(marked.parse(text, { async: false }), {
    RETURN_TRUSTED_TYPE: true,
    FORBID_TAGS: ['style', 'form', 'input', 'button', 'video', 'audio', 'svg', 'math'],
    FORBID_ATTR: ['style', 'class', 'id', 'srcset'],
  })
}

/** Returns the text without a first heading that is the title of the page. */
function below(title: string | undefined, text: string): string {
  const [, heading, rest = ''] = /^#\s+(.+?)\s*(?:\n([\s\S]*))?$/.exec(text) ?? []
  return title !== undefined && heading === title ? rest : text
}

export function Markdown({ text, title, titles, onFollow }: Props) {
  const html = useMemo(() => toHtml(below(title, text), titles), [title, text, titles])
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
