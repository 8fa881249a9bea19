/** Finds options by typed words, in any order. */

/** Lower case without accents, one character for each of the text, so that places in both are the same. */
const fold = (text: string): string => [...text].map((char) => char.normalize('NFD').toLowerCase()[0] ?? char).join('')

const wordsIn = (typed: string): string[] => fold(typed).split(/\s+/).filter(Boolean)

/** 0: the label begins with the first typed word; 1: one of its words does; 2: the letters are elsewhere. */
function rankOf(label: string, [first = '']: readonly string[]): number {
  const at = label.indexOf(first)
  if (at === 0) return 0
  return new RegExp(`[^\\p{L}\\p{N}]${RegExp.escape(first)}`, 'u').test(label) ? 1 : 2
}

interface Findable {
  label: string
  /** Other words by which it is found. */
  keywords?: string | undefined
}

/** Returns the options that contain every typed word, best first; all of them if nothing is typed. */
export function filterOptions<T extends Findable>(options: readonly T[], typed: string): readonly T[] {
  const wanted = wordsIn(typed)
  if (wanted.length === 0) return options
  return options
    .map((option) => ({ option, label: fold(option.label), all: fold(`${option.label} ${option.keywords ?? ''}`) }))
    .filter(({ all }) => wanted.every((word) => all.includes(word)))
    .map(({ option, label }) => ({ option, rank: rankOf(label, wanted) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ option }) => option)
}

interface TextPart {
  text: string
  marked: boolean
}

/** Splits a label into parts that were typed and parts that were not. */
export function markTyped(label: string, typed: string): TextPart[] {
  const chars = [...label]
  const folded = fold(label)
  const marked = chars.map(() => false)
  for (const word of wordsIn(typed)) {
    const at = folded.indexOf(word)
    if (at >= 0) marked.fill(true, at, at + word.length)
  }
  const parts: TextPart[] = []
  for (const [place, char] of chars.entries()) {
    const last = parts.at(-1)
    if (last && last.marked === marked[place]) last.text += char
    else parts.push({ text: char, marked: marked[place] ?? false })
  }
  return parts
}
