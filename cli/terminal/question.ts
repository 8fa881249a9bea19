/** Asks on the terminal. Returns false where nobody can answer. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false
  process.stderr.write(`${question} [y/N] `)
  for await (const line of console) return /^y(es)?$/i.test(line.trim())
  return false
}
