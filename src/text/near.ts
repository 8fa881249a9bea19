/** Levenshtein distance: how many letters must be inserted, removed or changed. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(
        (row[j] as number) + 1,
        (next[j - 1] as number) + 1,
        (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1),
      )
    row = next
  }
  return row[b.length] as number
}

/** Whether somebody who wrote `given` may have meant `name`: a part of it, or a few wrong letters. */
export function isNear(given: string, name: string): boolean {
  const [wanted, text] = [given.toLowerCase(), name.toLowerCase()]
  if (wanted === '' || Math.abs(wanted.length - text.length) > 200) return false
  return text.includes(wanted) || distance(text, wanted) <= Math.min(2, Math.floor(wanted.length / 3))
}
