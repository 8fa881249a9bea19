import { MOST_NESTED } from '../text/markdown-limits.ts'

/** Prefix of ids, so that a text cannot use the id of another element of the page. */
const PREFIX = 'md-'
const UPLOAD = /^\/uploads\/[0-9a-f-]{36}$/
const schemes = new Set(['http', 'https', 'mailto'])

const sameName = (name: string): [string, string] => [name, name]
/** The elements that are kept, by the name that they get. The title of the page is its only first heading. */
const kept = new Map<string, string>([
  ...['p', 'blockquote', 'pre', 'code', 'ul', 'ol', 'li', 'a', 'em', 'strong', 'b', 'i', 'u', 'del', 's'].map(sameName),
  ...['sub', 'sup', 'kbd', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'h6', 'br', 'hr', 'img'].map(sameName),
  ...[1, 2, 3, 4, 5].map((level): [string, string] => [`h${level}`, `h${level + 1}`]),
])
/** Elements without content, which have no closing tag. */
const empty = new Set(['br', 'hr', 'img', 'input'])

const TAG = /^(\/?)([a-z][a-z0-9-]*)((?:\s[^<>]*)?)$/

interface Tag {
  isClosing: boolean
  name: string
  attributes: string
}
/** Tags without attributes, which are most of them, as the renderer writes them. */
const plain = new Map<string, Tag>(
  [...kept.keys()].flatMap((name): [string, Tag][] => [
    [empty.has(name) ? `${name} /` : name, { isClosing: false, name, attributes: '' }],
    [`/${name}`, { isClosing: true, name, attributes: '' }],
  ]),
)

function readTag(written: string): Tag | undefined {
  const known = plain.get(written)
  if (known) return known
  const [, slash, name, attributes = ''] = TAG.exec(written) ?? []
  return name === undefined ? undefined : { isClosing: slash === '/', name, attributes }
}

/**
 * Returns safe HTML: every tag is written anew with allowed elements and attributes, and any other `<` becomes text.
 * Elements are closed in order. Elements that are nested too deep are left out, but not their text. Takes linear time.
 * `byUsers`: the text is not by an administrator, so search engines are told not to follow its links.
 */
export function filterHtml(html: string, byUsers: boolean): string {
  /** Names of open elements, empty for those that are left out. */
  const open: string[] = []
  let depth = 0
  let filtered = ''
  const close = (): string => {
    const last = open.pop()
    if (!last) return ''
    depth--
    return `</${last}>`
  }
  const begin = ({ name, attributes }: Tag): string => {
    const shown = depth < MOST_NESTED ? kept.get(name) : undefined
    if (!empty.has(name)) open.push(shown ?? '')
    if (shown && !empty.has(name)) depth++
    return shown ? writeTag(shown, attributes, byUsers) : ''
  }
  let at = 0
  for (let start = html.indexOf('<'); start >= 0; start = html.indexOf('<', at)) {
    const end = html.indexOf('>', start)
    const tag = end < 0 ? undefined : readTag(html.slice(start + 1, end))
    filtered += html.slice(at, start)
    if (!tag) filtered += '&lt;'
    else filtered += tag.isClosing ? close() : begin(tag)
    at = tag ? end + 1 : start + 1
  }
  filtered += html.slice(at)
  while (open.length > 0) filtered += close()
  return filtered
}

/** Returns an opening tag with the attributes that it may have. */
function writeTag(name: string, attributes: string, byUsers: boolean): string {
  if (name === 'a') return writeLink(attributes, byUsers)
  if (name === 'img') return writePicture(attributes)
  if (attributes === '') return `<${name}>`
  if (name === 'ol')
    return `<ol${writeAttribute('start', /^\d{1,9}$/.exec(readAttribute(attributes, 'start') ?? '')?.[0])}>`
  const id = /^h\d$/.test(name) ? readAttribute(attributes, 'id') : undefined
  return `<${name}${writeAttribute('id', id && PREFIX + id)}>`
}

function writeLink(attributes: string, byUsers: boolean): string {
  const href = readAttribute(attributes, 'href') ?? ''
  const to = href.startsWith('#') ? `#${PREFIX}${href.slice(1)}` : href
  const title = writeAttribute('title', readAttribute(attributes, 'title'))
  return `<a${isSafeAddress(to) ? writeAttribute('href', to) : ''}${title} rel="${byUsers ? 'nofollow ugc noopener' : 'noopener'}">`
}

/** A picture from elsewhere would tell its host who reads the page. */
function writePicture(attributes: string): string {
  const src = readAttribute(attributes, 'src') ?? ''
  if (!UPLOAD.test(src)) return ''
  const [alt, title] = [readAttribute(attributes, 'alt') ?? '', readAttribute(attributes, 'title')]
  return `<img${writeAttribute('src', src)}${writeAttribute('alt', alt)}${writeAttribute('title', title)} loading="lazy">`
}

const writeAttribute = (name: string, value: string | undefined): string =>
  value === undefined ? '' : ` ${name}="${Bun.escapeHTML(value)}"`

/** Returns the value of an attribute, as a browser reads what the renderer writes. */
function readAttribute(attributes: string, name: string): string | undefined {
  const start = attributes.indexOf(` ${name}="`)
  if (start < 0) return undefined
  const from = start + name.length + 3
  const end = attributes.indexOf('"', from)
  return end < 0 ? undefined : decode(attributes.slice(from, end))
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' }
/** Undoes what the renderer escapes. `writeAttribute` makes text of any other entity. */
const decode = (value: string): string =>
  value.includes('&') ? value.replace(/&(amp|lt|gt|quot);/g, (_, name: string) => entities[name] ?? '') : value

/** An address of this site, or one with a scheme that runs nothing. `//` and `\\` would lead to another host. */
function isSafeAddress(address: string): boolean {
  if (/\p{Cc}/u.test(address) || /^\s*[\\/]{2}/.test(address)) return false
  const [, scheme] = /^\s*([^/\\?#:]*):/.exec(address) ?? []
  return scheme === undefined || schemes.has(scheme.toLowerCase())
}
