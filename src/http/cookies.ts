import type { Config } from '../config.ts'
import { ACCESS_COOKIE, cookieName, isSecure, REFRESH_COOKIE } from './guard.ts'

export interface SetLike {
  status?: number | string
  headers: Record<string, unknown>
}

/** The secrets in the response of every sign-in. */
export interface Tokens {
  token: string
  refreshToken: string
}

/** Stores both tokens in cookies that scripts cannot read. */
export function setCookies<T extends Tokens>(set: SetLike, config: Config, status: number, answer: T): T {
  set.status = status
  set.headers['set-cookie'] = [
    cookie(config, ACCESS_COOKIE, answer.token, '/', 15 * 60),
    cookie(config, REFRESH_COOKIE, answer.refreshToken, refreshPath(config), 30 * 86_400),
    hereCookie('1', 30 * 86_400),
  ]
  return answer
}

/**
 * Marks a signed-in browser, so that `/` shows the dashboard. Contains no secret: it only decides which page is shown,
 * and scripts may read it.
 */
const HERE_COOKIE = 'tutti_here'
const hereCookie = (value: string, seconds: number): string =>
  `${HERE_COOKIE}=${value}; Path=/; Max-Age=${seconds}; SameSite=Lax`
export const isSignedInBrowser = ({ headers }: Request): boolean =>
  /(?:^|;\s*)tutti_here=1(?:;|$)/.test(headers.get('cookie') ?? '')

/** Returns the theme that the reader has chosen in this browser; undefined: that of their system. */
export const chosenTheme = ({ headers }: Request): string | undefined =>
  /(?:^|;\s*)theme=(light|dark)\b/.exec(headers.get('cookie') ?? '')?.[1]

/** Clears the mark after a session could not be renewed. */
export function clearSignedInMark(set: SetLike): void {
  set.headers['set-cookie'] = [hereCookie('', 0)]
}

/** The refresh token is sent only to its endpoint, except on HTTPS: the `__Host-` prefix requires the path `/`. */
const refreshPath = (config: Config): string => (isSecure(config) ? '/' : '/api/auth/refresh')

export function clearCookies<T>(set: SetLike, config: Config, answer: T): T {
  set.headers['set-cookie'] = [
    cookie(config, ACCESS_COOKIE, '', '/', 0),
    cookie(config, REFRESH_COOKIE, '', refreshPath(config), 0),
    hereCookie('', 0),
  ]
  return answer
}

export function cookie(config: Config, name: string, value: string, path: string, seconds: number): string {
  const secure = isSecure(config)
  return `${cookieName(config, name)}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}
