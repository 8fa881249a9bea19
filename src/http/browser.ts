import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
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

const CONFIRM_MARK = 'tutti_confirm'
/** Longer than a ticket is valid, so that an expired ticket returns its own error. */
const CONFIRM_MINUTES = 15

interface Exchange {
  request: Request
  set: SetLike
  app: { config: Config }
}

/** Returns the mark of a browser that was asked who created an account; an empty string if it was not asked. */
export const confirmMark = ({ request, app }: Exchange): string => browserMark(request, app.config, CONFIRM_MARK)

/**
 * Runs a sign-in that may ask who created the account. Its ticket works only in this browser, which keeps its mark: a
 * second tab must not make the ticket of the first one useless.
 */
export async function withConfirmMark<T>(exchange: Exchange, work: (browser: string) => Promise<T>): Promise<T> {
  const browser = confirmMark(exchange) || newMark()
  const mark = () => markBrowser(exchange.set, exchange.app.config, CONFIRM_MARK, browser, CONFIRM_MINUTES)
  try {
    const answer = await work(browser)
    if ((answer as { asks?: true }).asks) mark()
    return answer
  } catch (error) {
    if (error instanceof AppError && error.code === 'conflict.confirm_account') mark()
    throw error
  }
}
