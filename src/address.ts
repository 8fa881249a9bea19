import type { Config } from './config.ts'
import type { App } from './services.ts'

/** The address of this server, as people and programs know it. */

/** The names of this computer, as they are written in addresses. */
export const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Returns the address of this server as the caller knows it: programs compare it with what they dialled. On this
 * computer that may be any of its names, which the guard has checked; elsewhere it is the configured address.
 */
export function baseUrl({ url }: Pick<App, 'url'>, request: Request): string {
  const { protocol, hostname } = new URL(url)
  const dialled = URL.parse(`${protocol}//${request.headers.get('host')}`)
  return loopback.has(hostname) && dialled && loopback.has(dialled.hostname) ? dialled.origin : url
}

/** Whether people can authorize programs to sign in. `auto`: if programs accept the address, https or loopback. */
export function programsSignIn({ config, url }: Pick<App, 'config' | 'url'>): boolean {
  if (config.OAUTH !== 'auto') return config.OAUTH === 'on'
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || loopback.has(hostname)
}

/** The MCP endpoint is both the issuer and what tokens are for, so nothing at the root of the host announces either. */
export const mcpUrl = (base: string): string => `${base}/mcp`

/** Tells a program where it learns how to sign in; `more` are further parameters of the challenge. */
export const authChallenge = (base: string, scope: string, more = ''): string =>
  `Bearer ${more}resource_metadata="${base}/.well-known/oauth-protected-resource/mcp", scope="${scope}"`

/**
 * Returns the address that users open. For a loopback address it uses `localhost`: passkeys need a name, and browsers
 * keep cookies of 127.0.0.1 and localhost apart.
 */
export function publicUrl({ APP_URL, HOST }: Pick<Config, 'APP_URL' | 'HOST'>, port: number): string {
  const local = ['127.0.0.1', '::1', '0.0.0.0', '::', 'localhost'].includes(HOST)
  return APP_URL ?? `http://${local ? 'localhost' : HOST.includes(':') ? `[${HOST}]` : HOST}:${port}`
}
