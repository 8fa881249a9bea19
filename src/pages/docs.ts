import { html, pageShell } from './pages.ts'

/** The layout of the manual and of the API reference: a search, the text, and the contents beside or below it. */
interface Docs {
  /** Title of the browser's window. */
  title: string
  /** Path of the search. */
  path: string
  /** Label of the search: "Search the manual". */
  what: string
  query: string
  contents: { heading?: string; items: { href: string; text: string; current?: boolean }[] }[]
  body: string
}

export function docsPage({ title, path, what, query, contents, body }: Docs): string {
  const groups = contents.map(({ heading, items }) => {
    const links = items.map(
      ({ href, text, current }) =>
        `<li><a href="${html(href)}"${current ? ' aria-current="page"' : ''}>${html(text)}</a></li>`,
    )
    return `${heading ? `<h2>${html(heading)}</h2>` : ''}<ul>${links.join('')}</ul>`
  })
  const search = `<form class="find" role="search" action="${path}">
<label><span class="hide">Search ${html(what)}</span>
<input type="search" name="q" value="${html(query)}" maxlength="100" placeholder="Search ${html(what)}"></label>
<button class="quiet">Search</button><a class="to-contents" href="#contents">Contents</a></form>`
  return pageShell(
    title,
    `${search}${body}</main><nav id="contents" class="contents" aria-label="Contents">${groups.join('')}</nav>`,
    { kind: 'docs' },
  )
}

export const queryTerms = (query: string): string[] => query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8)

/** Whether every word occurs in the text, which is in lower case. */
export const containsAll = (text: string, words: readonly string[]): boolean =>
  words.every((word) => text.includes(word))

const begins = (lower: string, at: number): boolean => at === 0 || !/[\p{L}\p{N}]/u.test(lower[at - 1] as string)

/** Returns where a word of the text, which is in lower case, begins with `word`; -1 if none does. */
export function findWord(lower: string, word: string): number {
  let at = lower.indexOf(word)
  while (at >= 0 && !begins(lower, at)) at = lower.indexOf(word, at + 1)
  return at
}

/** Returns the text as HTML, with the words marked. */
export function markWords(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase()
  let out = ''
  for (let at = 0; at < text.length; ) {
    const word = begins(lower, at) ? words.find((w) => lower.startsWith(w, at)) : undefined
    out += word ? `<mark>${html(text.slice(at, at + word.length))}</mark>` : html(text[at] as string)
    at += word?.length ?? 1
  }
  return out
}
