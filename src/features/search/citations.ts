import { visibleText } from '../../text/text.ts'

/** What an answer of a chat model may contain: text, citations of its sources, and addresses that occur in a source. */
interface Citable {
  readonly sources: number
  /** Addresses of the sources, which the answer may repeat. */
  readonly addresses?: ReadonlySet<string>
}

const LONGEST = 8000
const REMOVED = '(link removed)'

/** `[label](address)`, also with parentheses inside the address. */
const inlineLink = /!?\[([^[\]]{0,300})\]\([^()]{0,2000}(?:\([^()]{0,300}\)[^()]{0,300}){0,3}\)/g
/** `[label][reference]`, where the reference is not a citation. */
const referenceLink = /!?\[([^[\]]{1,300})\]\[(?!\^?\d+[\d, ]{0,20}\])[^[\]]{0,300}\]/g
/** `[reference]: address`, on a line of its own. */
const definition = /^ {0,3}\[[^\]\n]{1,300}\]:[ \t]*(?:<|\/|#|www\.|[a-z][a-z0-9+.-]{1,20}:)[^\n]{0,2000}$/gim
const tag = /<\/?(?:a|img|iframe|script|link|video|audio|source|embed|object|form|svg|base|meta)\b[^<>]{0,2000}>/gi
/** An address, which many programs turn into a link or open. */
const address = new RegExp(
  [
    '([(<]?)',
    '((?:[a-z][a-z0-9+.-]{0,20}:\\/\\/|www\\.|javascript:|vbscript:|mailto:|data:[a-z]+\\/)',
    '[^\\s<>"\'`()[\\]]{1,2000})([)>]?)',
  ].join(''),
  'gi',
)
const protocolRelative = /(?<![:\w/])\/\/[\w-]{1,63}(?:\.[\w-]{1,63}){1,10}[^\s<>"'`()[\]]{0,2000}/g

/**
 * Returns a part of an answer as plain text, without images, links and addresses (a stored text may have made the model
 * write one that leaks data) and without citations of unknown sources. The text is untrusted, so every pattern is
 * bounded.
 */
function cleanAnswer(text: string, { sources, addresses }: Citable, citations: Set<number>): string {
  const keepCitations = (found: string, inside: string): string => {
    const numbers = (inside.match(/\d{1,9}/g) ?? []).map(Number)
    if (numbers.length === 0 || /[^\s\d,;&^#–-]/.test(inside.replace(/sources?|and/gi, ''))) return found
    const good = numbers.filter((n) => n >= 1 && n <= sources)
    for (const n of good) citations.add(n)
    return good.length === 0 ? '' : `${/^\s/.test(found) ? ' ' : ''}${good.map((n) => `[${n}]`).join('')}`
  }
  const keepLabel = (_: string, label: string): string => (/^\^?\d+$/.test(label) ? `[${label}]` : label)
  const keepKnown = (found: string, open: string, written: string, close: string): string => {
    const end = /[.,;:!?]*$/.exec(written)?.[0] ?? ''
    if (addresses?.has(written.slice(0, written.length - end.length))) return found
    return open && close ? `${REMOVED}` : `${open}${REMOVED}${end}${close}`
  }
  return (
    visibleText(text)
      .replace(definition, '')
      .replace(inlineLink, keepLabel)
      .replace(referenceLink, keepLabel)
      .replace(tag, '')
      .replace(address, keepKnown)
      .replace(protocolRelative, REMOVED)
      .replace(/\s?[[【]([^[\]【】]{1,60})[\]】]/g, keepCitations)
      // Breaks the remaining links: brackets in the label or address, or an address defined elsewhere.
      .replace(/\]\(/g, '] (')
      .replace(/^( {0,3}\[[^\]\n]{1,300}\]):/gm, '$1 :')
  )
}

/** Returns a whole answer without its reasoning, cleaned, and the sources that it cites. */
export function cleanWithCitations(reply: string, citable: Citable): { answer: string; citations: number[] } {
  const citations = new Set<number>()
  const text = reply.replace(/<think>[\s\S]*?(<\/think>|$)/gi, '').slice(0, LONGEST)
  return { answer: cleanAnswer(text, citable, citations).trim(), citations: sortedNumbers(citations) }
}

const sortedNumbers = (numbers: Iterable<number>): number[] => [...numbers].sort((a, b) => a - b)

/** Cleans an answer that arrives in pieces, so that live readers see the text that is stored in the end. */
export class CitedText {
  #held = ''
  readonly #cited = new Set<number>()
  text = ''

  constructor(private readonly citable: () => Citable) {}

  get citations(): number[] {
    return sortedNumbers(this.#cited)
  }

  /** Returns the text that later pieces cannot change. */
  append(piece: string): string {
    this.#held += piece
    return this.#show(settledLength(this.#held))
  }

  end(): string {
    this.#held = this.#held.trimEnd()
    return this.#show(this.#held.length)
  }

  #show(length: number): string {
    const cleaned = cleanAnswer(this.#held.slice(0, length), this.citable(), this.#cited)
    this.#held = this.#held.slice(length)
    const shown = (this.text === '' ? cleaned.trimStart() : cleaned).slice(0, LONGEST - this.text.length)
    this.text += shown
    return shown
  }
}

/** Longer than any construct that is recognised. */
const MOST_HELD = 3000

/** Returns the length up to the last white space that is outside links, citations and tags. */
function settledLength(text: string): number {
  let end = text.length
  for (;;) {
    end = lastSpace(text, end)
    if (end === 0) return text.length > MOST_HELD ? text.length : 0
    const open = unclosedAt(text.slice(0, end))
    if (open < 0) return end
    end = open
  }
}

/** Returns where the last run of white space before `end` begins; 0 without one. */
function lastSpace(text: string, end: number): number {
  let at = end
  while (at > 0 && /\S/.test(text[at - 1] as string)) at--
  while (at > 0 && /\s/.test(text[at - 1] as string)) at--
  return at
}

/** Returns where an unclosed link, citation or tag begins; -1 if there is none. */
function unclosedAt(text: string): number {
  const start = Math.max(text.lastIndexOf('['), text.lastIndexOf('【'))
  if (start >= 0) {
    const end = text.slice(start).search(/[\]】]/)
    if (end < 0) return start
    if (text[start + end + 1] === '(' && !text.slice(start + end).includes(')')) return start
  }
  const opened = text.lastIndexOf('<')
  return opened >= 0 && /^<[a-z/]/i.test(text.slice(opened)) && !text.slice(opened).includes('>') ? opened : -1
}
