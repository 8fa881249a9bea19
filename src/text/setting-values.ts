import { isIP } from 'node:net'
import { splitServers, targetSessionAttrs } from './database-address.ts'
import { parseHostEntry } from './host-entry.ts'

/** Converts the text of a setting to its value. Throws an error that completes the sentence "NAME …". */
export type Parse<T> = (text: string) => T

export const text: Parse<string> = (value) => value
/** A whole number from `min` to `max`. */
export const number =
  (min: number, max: number): Parse<number> =>
  (value) => {
    const n = /^\d+$/.test(value) ? Number(value) : Number.NaN
    if (Number.isNaN(n) || n < min || n > max) throw new Error(`must be a whole number from ${min} to ${max}`)
    return n
  }
export const choice =
  <const T extends readonly string[]>(...values: T): Parse<T[number]> =>
  (value) => {
    if (!values.includes(value)) throw new Error(`must be one of: ${values.join(', ')}`)
    return value
  }
const list: Parse<string[]> = (value) =>
  value
    .split(',')
    .map((v) => v.trim())
    .filter(Boolean)
const hostName = /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i
export const hosts: Parse<string[]> = (value) =>
  list(value).map((host) => {
    if (!hostName.test(host)) throw new Error(`must be host names without scheme or port, not ${host}`)
    return host
  })
export const host: Parse<string | undefined> = (value) => {
  if (!hostName.test(value)) throw new Error('must be a host name without scheme or port')
  return value.toLowerCase()
}
export const addresses: Parse<string[]> = (value) =>
  list(value).map((address) => {
    if (!isIP(address)) throw new Error(`must be single IP addresses, not ${address}`)
    return address
  })
/** Names of hosts, `host:port`, addresses and ranges of them. */
export const hostEntries: Parse<string[]> = (value) =>
  list(value).map((entry) => {
    if (!parseHostEntry(entry))
      throw new Error(`must list names, host:port, addresses or ranges such as 10.0.0.0/8, not ${entry}`)
    return entry
  })
/** An address that a server can listen on. */
export const bindable: Parse<string> = (value) => {
  if (!isIP(value) && !/^[a-z0-9.-]+$/i.test(value)) throw new Error('must be an IP address or a host name')
  return value
}
/** A web address without a path; returns its origin. */
export const webUrl: Parse<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error('must be an http:// or https:// address')
  if (url.pathname !== '/' || url.search || url.hash)
    throw new Error('must be an address without a path, such as https://tutti.example.com')
  return url.origin
}
/** A web address that may have a path. */
export const anyUrl: Parse<string> = (value) => {
  if (!URL.canParse(value) || !/^https?:/.test(value)) throw new Error('must be an http:// or https:// address')
  return value
}
export const smtpUrl: Parse<string> = (value) => {
  if (!/^smtps?:\/\//.test(value) || !URL.canParse(value))
    throw new Error('must look like smtps://user:password@mail.example.com:465')
  return value
}
/** An address of one or several servers of a Postgres cluster. */
export const databaseUrl: Parse<string> = (value) => {
  if (splitServers(value).length === 0) throw new Error('must look like postgres://user:password@host:5432/database')
  if (!/^(read-write|primary)?$/.test(targetSessionAttrs(value) ?? ''))
    throw new Error('must have target_session_attrs=read-write or none: the server that accepts writes is always used')
  return value
}
/** An amount of memory, as Postgres writes it. */
export const size: Parse<string> = (value) => {
  if (!/^\d+(kB|MB|GB)$/.test(value)) throw new Error('must look like 32MB')
  return value
}
/** Guessable secrets. */
const weak = /^(change[-_ ]?me|secret|password|default|example|test|tutti)/i
export const secret =
  (minLength: number): Parse<string> =>
  (value) => {
    if (value.length < minLength) throw new Error(`must have at least ${minLength} characters`)
    if (weak.test(value) || new Set(value).size < 8)
      throw new Error('is a default value or too simple; generate one with: openssl rand -base64 32')
    return value
  }

/** Hides the user, password and query of an address. Other text stays unchanged. */
export const hideCredentials = (text: string): string =>
  text.replace(/^([a-z][a-z0-9+.-]*:\/\/)([^\s/?#]*@)?([^?]*)(\?.*)?$/is, (_, scheme, who, where, query) =>
    [scheme, who ? '(hidden)@' : '', where, query ? '?(hidden)' : ''].join(''),
  )
