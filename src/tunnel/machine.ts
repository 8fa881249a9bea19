import { Type } from '@sinclair/typebox'
import { check } from '../check.ts'
import { array, id, object, optional, type Static, text } from '../schema.ts'
import type { Offer, TunnelUser } from './frames.ts'

const who = array(
  text(40, { pattern: '^(owner|members|anyone|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$' }),
  100,
)
/** A local address only: a tunnel is no way into the rest of the machine's network. */
const local = text(500, {
  pattern: '^(http://(127\\.0\\.0\\.1|localhost|\\[::1\\]):[0-9]{1,5}|unix:/.+)$',
  description: 'http://127.0.0.1:3000, or unix: and the path of a socket',
})

/** `tunnel.json`: what this machine offers, and to whom. The server cannot widen it. */
export const Machine = object({
  server: text(500),
  tunnelId: id(),
  ownerId: id(),
  name: text(100),
  slug: text(30),
  token: text(100),
  services: Type.Record(
    Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', maxLength: 30 }),
    object({ url: local, who: optional(who) }),
  ),
})
export type Machine = Static<typeof Machine>

/** Returns what is wrong with the content of a `tunnel.json`. */
export const machineProblems = (value: unknown): string[] =>
  check(Machine, value).map((e) => `${e.pointer}: ${e.message}`)

export const offerOf = ({ services }: Pick<Machine, 'services'>): Offer => ({
  services: Object.entries(services).map(([name, service]) => ({ name, who: service.who ?? ['owner'] })),
})

/** Returns whether the machine lets this user in. Without `who`: only its owner. */
export function isAllowed(list: readonly string[] | undefined, user: TunnelUser | null, ownerId: string): boolean {
  return (list ?? ['owner']).some((entry) => {
    if (entry === 'anyone') return true
    if (!user) return false
    if (entry === 'owner') return user.id === ownerId
    if (entry === 'members') return user.role !== 'viewer'
    return entry === user.id
  })
}
