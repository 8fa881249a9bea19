/** `{{branch}}` in the text is an argument, which the client asks for when the skill is used. */
export const placeholder = /\{\{\s{0,20}([A-Za-z][A-Za-z0-9_]{0,39})\s{0,20}\}\}/g

/** Nobody fills in more; further ones stay in the text, and are replaced if they are given all the same. */
const MOST = 50

/** Returns the names of the placeholders in a text. */
export function placeholdersIn(text: string): string[] {
  const names = new Set<string>()
  for (const [, name] of text.matchAll(placeholder)) {
    names.add(name as string)
    if (names.size === MOST) break
  }
  return [...names].sort()
}
