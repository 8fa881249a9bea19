/** `{{branch}}` in the text is an argument that the client asks for. */
export const placeholder = /\{\{\s{0,20}([A-Za-z][A-Za-z0-9_]{0,39})\s{0,20}\}\}/g

/** No one fills in more arguments; further placeholders stay in the text, and are replaced if a client sends them. */
const MOST = 50

export function placeholdersIn(text: string): string[] {
  const names = new Set<string>()
  for (const [, name] of text.matchAll(placeholder)) {
    names.add(name as string)
    if (names.size === MOST) break
  }
  return [...names].sort()
}
