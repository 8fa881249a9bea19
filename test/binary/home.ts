import { expect } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BINARY, folder, json, PASSWORD, type Run, type Served, serve, tutti } from '../support/binary.ts'

export const EMAIL = 'grace@example.com'

/** A running server, and a user who is signed in to it in a browser. */
export class Office {
  private constructor(
    readonly server: Served,
    readonly token: string,
  ) {}

  static async open(env: Record<string, string> = {}, port = '0'): Promise<Office> {
    const server = await serve({ env, port })
    const grace = { email: EMAIL, name: 'Grace Hopper', password: PASSWORD }
    const made = await fetch(`${server.url}/api/auth/register`, json('POST', grace))
    return new Office(server, ((await made.json()) as { token: string }).token)
  }

  get url(): string {
    return this.server.url
  }

  /** The default name of a profile. */
  get host(): string {
    return new URL(this.url).host
  }

  async api<T>(method: string, path: string, body?: object, as = this.token): Promise<{ status: number; body: T }> {
    const response = await fetch(this.url + path, json(method, body, as))
    return { status: response.status, body: (await response.json()) as T }
  }

  answer = (userCode: string, more: object = {}) => this.api('POST', '/api/auth/device/approve', { userCode, ...more })

  async key(scopes?: string[]): Promise<string> {
    return (
      await this.api<{ token: string }>('POST', '/api/settings/api-keys', { name: 'laptop', ...(scopes && { scopes }) })
    ).body.token
  }

  async signedIn(): Promise<Home> {
    const home = new Home(this)
    const { userCode, done } = await home.login()
    expect((await this.answer(userCode)).status).toBe(200)
    expect((await done).code).toBe(0)
    return home
  }
}

interface Stored {
  server?: string
  token?: string
  refreshToken?: string
  expiresAt?: string
  team?: string
}

/** A user's home on this machine, with nothing in it. */
export class Home {
  readonly #config = join(folder(), 'config')
  readonly env = { XDG_CONFIG_HOME: this.#config }
  readonly file = join(this.#config, 'tutti', 'credentials.json')

  constructor(private readonly office: Office) {}

  run = (...args: string[]): Promise<Run> => tutti(args, { env: this.env })
  within = (cwd: string, args: string[], stdin?: string): Promise<Run> => tutti(args, { env: this.env, cwd, stdin })

  get text(): string {
    return existsSync(this.file) ? readFileSync(this.file, 'utf8') : ''
  }

  #all = () => JSON.parse(this.text || '{"profiles":{}}') as { current: string; profiles: Record<string, Stored> }

  /** What is stored about the server. */
  get stored(): Stored | undefined {
    return this.#all().profiles[this.office.host]
  }

  edit(change: Stored): void {
    const { profiles, ...rest } = this.#all()
    const { host } = this.office
    writeFileSync(
      this.file,
      JSON.stringify({ ...rest, profiles: { ...profiles, [host]: { ...profiles[host], ...change } } }),
    )
  }

  /** Starts a sign-in, also on a terminal, and waits until it shows a code. */
  async login(args: string[] = [this.office.url], terminal?: Record<string, string>) {
    const command = terminal
      ? ['script', '-qec', `${BINARY} login ${args.join(' ')}`, '/dev/null']
      : [BINARY, 'login', ...args]
    const child = Bun.spawn(command, {
      env: { PATH: process.env.PATH ?? '', HOME: folder(), ...this.env, ...terminal },
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const shown = { out: '', err: '' }
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const read = async (stream: ReadableStream<Uint8Array>, name: 'out' | 'err') => {
      const decoder = new TextDecoder()
      for await (const chunk of stream) {
        shown[name] += decoder.decode(chunk, { stream: true })
        const code = /[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}/.exec(shown[name])?.[0]
        if (code && shown[name].includes('Ctrl-C to stop')) resolve(code)
      }
    }
    const done = Promise.all([read(child.stdout, 'out'), read(child.stderr, 'err'), child.exited]).then(
      ([, , code]): Run => {
        reject(new Error(`ended with ${code}: ${shown.out}${shown.err}`))
        return { code, ...shown }
      },
    )
    return { child, done, userCode: await promise, shown: () => shown.out + shown.err }
  }
}
