import { type ChildProcess, spawn } from 'node:child_process'
import { splitLines } from '../../text/lines.ts'
import { type McpChannel, type McpChannelEvents, parseRpcMessage, type RpcMessage } from './message.ts'

/** Characters of one message of a server. */
const MOST_LINE = 8 << 20
/** Milliseconds between closing the input and SIGTERM, and between SIGTERM and SIGKILL. */
const PATIENCE_MS = 1000

export interface McpProgram {
  argv: readonly string[]
  folder?: string
  /** Its whole environment. */
  env?: Readonly<Record<string, string>>
}

/** A local MCP server that runs as a process and uses standard input and output. */
export class StdioChannel implements McpChannel {
  readonly #child: ChildProcess
  #isClosed = false

  constructor(
    { argv: [program = '', ...args], folder, env }: McpProgram,
    private readonly events: McpChannelEvents,
  ) {
    // A separate process group, so that child processes end with it.
    this.#child = spawn(program, args, {
      cwd: folder,
      env: { ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: process.platform !== 'win32',
    })
    this.#child.on('error', () => this.#ended())
    this.#child.on('exit', () => this.#ended())
    this.#child.stdin?.on('error', () => this.#ended())
    void this.#read()
  }

  send(message: RpcMessage): void {
    if (!this.#isClosed) this.#child.stdin?.write(`${JSON.stringify(message)}\n`)
  }

  /** Closes the input, which asks the server to exit, and kills it if it does not. */
  close(): void {
    this.#isClosed = true
    this.#child.stdin?.end()
    const terminate = setTimeout(() => this.#kill('SIGTERM'), PATIENCE_MS)
    const kill = setTimeout(() => this.#kill('SIGKILL'), 2 * PATIENCE_MS)
    this.#child.once('exit', () => {
      clearTimeout(terminate)
      clearTimeout(kill)
      // Ends the child processes that it left behind.
      this.#kill('SIGKILL')
    })
  }

  /** Ends the process at once. */
  kill(): void {
    this.#isClosed = true
    this.#kill('SIGKILL')
  }

  async #read(): Promise<void> {
    try {
      if (!this.#child.stdout) return
      for await (const line of splitLines(this.#child.stdout, { longest: MOST_LINE })) {
        const message = parseRpcMessage(line)
        if (message && !this.#isClosed) this.events.message(message)
      }
    } catch {
      this.#kill('SIGKILL')
    }
    this.#ended()
  }

  #ended(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#kill('SIGKILL')
    this.events.closed()
  }

  #kill(signal: NodeJS.Signals): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      if (process.platform === 'win32') this.#child.kill(signal)
      else process.kill(-pid, signal)
    } catch {}
  }
}
