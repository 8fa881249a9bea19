const CLS = 101
const SEP = 102
const UNKNOWN = 100
const LONGEST_WORD = 100

const isPunctuation = (code: number, char: string): boolean =>
  (code >= 33 && code <= 47) ||
  (code >= 58 && code <= 64) ||
  (code >= 91 && code <= 96) ||
  (code >= 123 && code <= 126) ||
  (code > 127 && /\p{P}/u.test(char))

const isIdeograph = (c: number): boolean =>
  c >= 0x3400 &&
  (c <= 0x4dbf ||
    (c >= 0x4e00 && c <= 0x9fff) ||
    (c >= 0xf900 && c <= 0xfaff) ||
    (c >= 0x20000 && c <= 0x2ceaf) ||
    (c >= 0x2f800 && c <= 0x2fa1f))

/**
 * BERT's uncased WordPiece. Produces the ids of the reference, except that text which looks like `[CLS]` stays text.
 */
export class WordPiece {
  constructor(private readonly vocabulary: ReadonlyMap<string, number>) {}

  encode(text: string, most: number): number[] {
    const ids = [CLS]
    for (const word of words(text)) {
      if (ids.length >= most - 1) break
      for (const piece of this.#pieces(word)) if (ids.length < most - 1) ids.push(piece)
    }
    ids.push(SEP)
    return ids
  }

  /**
   * Takes the longest known beginning, then the longest known continuation, and so on. A word with an unknown part is
   * unknown as a whole.
   */
  #pieces(word: string): number[] {
    const chars = [...word]
    if (chars.length > LONGEST_WORD) return [UNKNOWN]
    const pieces: number[] = []
    for (let from = 0; from < chars.length; ) {
      let to = chars.length
      let id: number | undefined
      for (; to > from; to--) {
        id = this.vocabulary.get((from > 0 ? '##' : '') + chars.slice(from, to).join(''))
        if (id !== undefined) break
      }
      if (id === undefined) return [UNKNOWN]
      pieces.push(id)
      from = to
    }
    return pieces
  }
}

function words(text: string): string[] {
  let clean = ''
  for (const char of text) {
    const code = char.codePointAt(0) as number
    if (code >= 32 && code < 127) clean += char
    else if (code === 9 || code === 10 || code === 13 || /\p{Zs}/u.test(char)) clean += ' '
    else if (code === 0 || code === 0xfffd || /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}]/u.test(char)) continue
    else clean += isIdeograph(code) ? ` ${char} ` : char
  }
  const out: string[] = []
  let current = ''
  const end = () => {
    if (current) out.push(current)
    current = ''
  }
  for (const char of clean
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')) {
    const code = char.codePointAt(0) as number
    if (code === 32 || (code > 127 && /\s/u.test(char))) end()
    else if (isPunctuation(code, char)) {
      end()
      out.push(char)
    } else current += char
  }
  end()
  return out
}
