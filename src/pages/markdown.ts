import { workerUrl } from '../worker-url.ts'
import { renderMarkdown, sourceHtml } from './render-markdown.ts'

/** Texts up to this length are rendered at once, which is faster than another thread. */
const SHORT = 20_480
/** The longest text takes about 50 ms. One that takes longer than this is shown as it was written. */
const MOST_MS = 2000
/** How many texts may wait for the thread. Further ones are shown as they were written, and are not kept. */
const MOST_WAITING = 50
/** How long the thread stays after its last text. */
const IDLE_MS = 60_000

interface Waiting {
  markdown: string
  byUsers: boolean
  resolve(html: string): void
}

/** Renders long texts one after the other in a thread of its own, so that other requests do not wait. */
export class MarkdownThread {
  readonly #waiting: Waiting[] = []
  #current: Waiting | undefined
  #worker: Worker | undefined
  #timer: Timer | undefined

  constructor(private readonly mostMs = MOST_MS) {}

  /** Returns undefined if too many texts wait already. */
  render(markdown: string, byUsers: boolean): Promise<string> | undefined {
    if (this.#waiting.length >= MOST_WAITING) return undefined
    const { promise, resolve } = Promise.withResolvers<string>()
    this.#waiting.push({ markdown, byUsers, resolve })
    if (!this.#current) this.#next()
    return promise
  }

  #next(): void {
    clearTimeout(this.#timer)
    this.#current = this.#waiting.shift()
    if (!this.#current) {
      this.#timer = setTimeout(() => this.#stop(), IDLE_MS)
      this.#timer.unref()
      return
    }
    const { markdown, byUsers } = this.#current
    this.#worker ??= this.#start()
    this.#worker.postMessage({ markdown, byUsers })
    this.#timer = setTimeout(() => this.#giveUp(), this.mostMs)
  }

  #start(): Worker {
    const worker = new Worker(workerUrl('src/pages/markdown-worker.ts'), { ref: false })
    // A terminated worker may still send the result of an earlier text.
    worker.onmessage = ({ data }: MessageEvent<string>) => void (worker === this.#worker && this.#finish(data))
    worker.onerror = () => void (worker === this.#worker && this.#giveUp())
    return worker
  }

  #finish(html: string): void {
    this.#current?.resolve(html)
    this.#next()
  }

  #giveUp(): void {
    this.#stop()
    this.#finish(sourceHtml(this.#current?.markdown ?? ''))
  }

  #stop(): void {
    this.#worker?.terminate()
    this.#worker = undefined
  }
}

const thread = new MarkdownThread()

const MOST_CHARACTERS = 16_000_000
const kept = new Map<string, string>()
let characters = 0
/** Texts that are being rendered. Concurrent callers share the result. */
const rendering = new Map<string, Promise<string>>()

/**
 * Returns safe HTML of a Markdown text, from memory if it was rendered before. `key` names the version of the text.
 * `byUsers`: the text is not by an administrator, so search engines are told not to follow its links.
 */
export async function cachedHtml(key: string, markdown: string, byUsers: boolean): Promise<string> {
  const known = kept.get(key)
  if (known !== undefined) return known
  if (markdown.length <= SHORT) return keep(key, renderMarkdown(markdown, byUsers))
  const running = rendering.get(key)
  if (running) return running
  const html = thread.render(markdown, byUsers)?.then((result) => keep(key, result))
  if (!html) return sourceHtml(markdown)
  rendering.set(key, html)
  return html.finally(() => rendering.delete(key))
}

function keep(key: string, html: string): string {
  characters -= kept.get(key)?.length ?? 0
  kept.set(key, html)
  characters += html.length
  for (const [oldest, text] of kept) {
    if (characters <= MOST_CHARACTERS) break
    kept.delete(oldest)
    characters -= text.length
  }
  return html
}

/** Forgets all rendered texts. */
export function clearHtmlCache(): void {
  kept.clear()
  characters = 0
}
