/** The address of a Postgres; it may name several servers of one cluster: `postgres://user@a:5432,b:5432/name`. */
interface Parts {
  /** Scheme, user and password. */
  start: string
  hosts: string[]
  /** Name of the database, and parameters. */
  rest: string
}

const form = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is
const target = /([?&])target_session_attrs=([^&#]*)&?/

const partsOf = (address: string): Parts | undefined => {
  const [, start, hosts, rest] = form.exec(address) ?? []
  return start === undefined ? undefined : { start, hosts: (hosts as string).split(','), rest: rest as string }
}

/**
 * Returns an address for each server; none if it is malformed. `target_session_attrs` is left out: the server that
 * accepts writes is always the one we look for, and a database would not know the parameter.
 */
export function splitServers(address: string): string[] {
  const { start, hosts, rest } = partsOf(address) ?? { start: '', hosts: [], rest: '' }
  const end = rest.replace(target, '$1').replace(/[?&]$/, '')
  const servers = hosts.map((host) => `${start}${host}${end}`)
  return servers.every((server) => URL.canParse(server)) ? servers : []
}

/** Returns which kind of server the address asks for, in the words of libpq. */
export const targetSessionAttrs = (address: string): string | undefined => target.exec(address)?.[2]

/** Returns the address without user, password and parameters, for people. */
export function displayAddress(address: string): string {
  const { hosts, rest } = partsOf(address) ?? { hosts: [], rest: '' }
  return `postgres://${hosts.join(',')}${rest.replace(/[?#].*$/s, '')}`
}
