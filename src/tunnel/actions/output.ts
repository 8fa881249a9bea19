import { actionLimits } from './action.ts'

type Line = [n: number, text: string]

/** Characters of one report of output. JSON takes up to three bytes for most of them. */
const BATCH = 12_000

/** The last lines of an action's output, so that a program that prints much neither waits nor fills the memory. */
export class ActionOutput {
  #lines: Line[] = []
  #length = 0
  #count = 0
  /** The unfinished last line of each stream. */
  readonly #rest = new Map<string, string>()

  append(stream: string, text: string): void {
    const lines = ((this.#rest.get(stream) ?? '') + text).split(/\r\n|\n|\r(?!$)/)
    const rest = lines.pop() ?? ''
    for (const line of lines) this.appendLine(line)
    if (rest.length <= actionLimits.line) this.#rest.set(stream, rest)
    else {
      this.#rest.delete(stream)
      this.appendLine(rest)
    }
  }

  /** Adds the unfinished lines. */
  end(): void {
    for (const rest of this.#rest.values()) if (rest !== '') this.appendLine(rest)
    this.#rest.clear()
  }

  appendLine(text: string): void {
    // Colours and other control characters are only for terminals.
    const plain = Bun.stripANSI(text).replace(/(?!\t)\p{Cc}/gu, '')
    for (let at = 0; at === 0 || at < plain.length; at += actionLimits.line)
      this.#add(plain.slice(at, at + actionLimits.line))
  }

  /** Returns the lines of the next report; empty if all were reported. */
  takeBatch(): Line[] {
    const batch: Line[] = []
    for (let length = 0; this.#lines[0] && batch.length < 500; ) {
      length += this.#lines[0][1].length + 20
      if (length > BATCH && batch.length > 0) break
      batch.push(this.#lines.shift() as Line)
    }
    for (const [, text] of batch) this.#length -= text.length + 1
    return batch
  }

  #add(text: string): void {
    this.#lines.push([++this.#count, text])
    this.#length += text.length + 1
    while (this.#length > actionLimits.output) this.#length -= (this.#lines.shift()?.[1].length ?? 0) + 1
  }
}

/** The last lines of an output, on the server. */
export class OutputTail {
  #lines: string[] = []
  #length = 0
  #isCut = false
  #last = 0

  /** Returns false for a line that was added before. */
  add([n, text]: Line): boolean {
    if (n <= this.#last) return false
    if (n > this.#last + 1) this.#isCut = true
    this.#last = n
    this.#lines.push(text)
    this.#length += text.length + 1
    for (; this.#length > actionLimits.output; this.#isCut = true)
      this.#length -= (this.#lines.shift()?.length ?? 0) + 1
    return true
  }

  get text(): string {
    return this.#lines.join('\n')
  }

  /** Lines are missing, usually at the beginning. */
  get isCut(): boolean {
    return this.#isCut
  }
}
