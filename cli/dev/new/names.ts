import { kindInfo, pluralOf, recordNames } from '../../../src/records/names.ts'

/** The templates are written for this kind; its name is replaced by the new one. */
const EXAMPLE = 'bookmark'

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** Returns a function that replaces the name of the example in a text or a path: `Bookmarks` → `Policies`. */
export function renamer(kind: string): (text: string) => string {
  const names: [string, string][] = [
    [pluralOf(EXAMPLE), pluralOf(kind)],
    [EXAMPLE, kind],
  ]
  const article = /^[aeiou]/.test(kind) ? 'n' : ''
  return (text) =>
    names
      .flatMap(([from, to]): [string, string][] => [
        [from, to],
        [capitalized(from), capitalized(to)],
      ])
      .reduce((sum, [from, to]) => sum.replaceAll(from, to), text.replace(/\b([Aa])(?= bookmark)/g, `$1${article}`))
}

/** What exists already: words that a new kind must not use. */
interface Taken {
  readonly nouns: readonly string[]
  readonly features: readonly string[]
  readonly tables: readonly string[]
  readonly paths: readonly string[]
  /** What events and exports are about. */
  readonly subjects: readonly string[]
  /** The texts of the templates, whose own identifiers must stay apart from the name of the kind. */
  readonly code: string
}

/** Returns why a kind cannot have this name, or undefined. */
export function nameProblem(kind: string, taken: Taken): string | undefined {
  const plural = pluralOf(kind)
  if (!/^[a-z]{3,30}$/.test(kind))
    return `The name of a kind is one lower-case word of 3 to 30 letters, not ${JSON.stringify(kind)}.`
  if (recordNames.some((name) => name === kind))
    return `There is a kind named ${kind} already: see src/records/names.ts.`
  const singular = recordNames.find((name) => pluralOf(name) === kind || kindInfo(name).noun === kind)
  if (singular) return `There is a kind named ${singular} already: see src/records/names.ts.`
  if (/[^siu]s$/.test(kind)) return `Use the singular: bun run new ${kind.replace(/ies$/, 'y').replace(/s$/, '')}`
  if (taken.features.includes(plural)) return `There is a feature named ${plural} already: src/features/${plural}.`
  if (taken.tables.includes(plural)) return `There is a table named ${plural} already. Choose another name.`
  if (taken.nouns.includes(plural)) return `There is a command \`tutti ${plural}\` already. Choose another name.`
  if (taken.paths.includes(`/${plural}`)) return `There is a page /${plural} already. Choose another name.`
  if (taken.subjects.includes(kind)) return `Events or exports use the word ${kind} already. Choose another name.`
  if (identifiersIn(taken.code).has(kind) || identifiersIn(taken.code).has(plural) || isReserved(kind))
    return `The generated code uses the word ${kind} for something else. Choose another name.`
  return undefined
}

/** Returns the words of a text of TypeScript outside of its comments and string literals. */
const identifiersIn = (code: string): ReadonlySet<string> =>
  new Set(
    code
      .replace(/\/\*[\s\S]*?\*\/|'[^'\n]*'|"[^"\n]*"/g, ' ')
      .match(/[A-Za-z]\w*/g)
      ?.filter((word) => !word.toLowerCase().includes(EXAMPLE)),
  )

function isReserved(word: string): boolean {
  try {
    new Bun.Transpiler({ loader: 'ts' }).transformSync(`export const ${word} = 1`)
    return false
  } catch {
    return true
  }
}
