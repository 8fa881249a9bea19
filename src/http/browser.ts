import type { Config } from '../config.ts'
import { cookie, type SetLike } from './cookies.ts'
import { cookieOf } from './guard.ts'

/** Binds a flow to the browser that began it: the browser holds a random mark, the database its hash. */
export const newMark = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')

export const markBrowser = (set: SetLike, config: Config, name: string, mark: string, minutes: number): void =>
  add(set, cookie(config, name, mark, '/', minutes * 60))

export const unmarkBrowser = (set: SetLike, config: Config, name: string): void =>
  add(set, cookie(config, name, '', '/', 0))

/** Returns an empty string, which matches no mark, if there is none. */
export const browserMark = (request: Request, config: Config, name: string): string =>
  cookieOf(request, config, name) ?? ''

function add(set: SetLike, value: string): void {
  set.headers['set-cookie'] = [...((set.headers['set-cookie'] as string[] | undefined) ?? []), value]
}
