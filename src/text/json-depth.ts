/** How deep JSON input may be nested. A recursive reader, such as the embedded database, could overflow its stack. */
export const MOST_DEPTH = 32

/** Returns how deep a JSON text is nested, without parsing it. */
export function jsonDepth(text: string): number {
  let depth = 0
  let most = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (quoted) {
      if (c === 92) i++
      else if (c === 34) quoted = false
    } else if (c === 34) quoted = true
    else if (c === 123 || c === 91) most = Math.max(most, ++depth)
    else if (c === 125 || c === 93) depth--
  }
  return most
}
