/** Thrown when a line is longer than the reader allows. */
export class LineTooLong extends Error {}

interface Options {
  /** Maximum number of characters in a line (default: unlimited). */
  longest?: number
  /** Throws on bytes that are not UTF-8, instead of replacing them (default: false). */
  fatal?: boolean
}

/**
 * Splits a stream of UTF-8 bytes into lines, at line feeds only. Node's readline also splits at other separators, which
 * may occur inside JSON strings. An empty line at the very end is left out.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  { longest = Number.POSITIVE_INFINITY, fatal = false }: Options = {},
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal })
  let unfinished: string[] = []
  let length = 0
  for await (const chunk of chunks) {
    const lines = decoder.decode(chunk, { stream: true }).split('\n')
    const rest = lines.pop() as string
    if (lines.length > 0) {
      yield unfinished.join('') + lines[0]
      yield* lines.slice(1)
      unfinished = []
      length = 0
    }
    unfinished.push(rest)
    length += rest.length
    if (length > longest) throw new LineTooLong(`A line is longer than ${longest} characters.`)
  }
  if (length > 0) yield unfinished.join('')
}
