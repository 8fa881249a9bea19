import { AppError } from '../../src/errors.ts'
import { Client } from '../api/client.ts'
import { type ServerChoice, selectProfile, signedInClient } from '../api/profiles.ts'
import { printNote } from '../terminal/output.ts'
import { timeAgo } from '../terminal/times.ts'
import { hasCopy, type Owner } from './owner.ts'

/** Describes the option. */
export const OFFLINE_OPTION = 'use the synced copy on this computer, not the server'

export interface WhereOrOffline extends ServerChoice {
  offline?: boolean
}

type SignedIn = ReturnType<typeof signedInClient>

/** Returns whose copy a profile uses; undefined for an API key that may not read its user. */
export const copyOwner = ({ profile: { kind, server, user } }: Pick<SignedIn, 'profile'>): Owner | undefined =>
  kind === 'carried' ? { server, userId: 'carried' } : user && { server, userId: user.id }

/** Returns the profile and its client, without credentials for a server that is reached only through bundles. */
export function signedInOrCarried(where: ServerChoice): SignedIn {
  const [name, profile] = selectProfile(where) ?? []
  if (!name || profile?.kind !== 'carried') return signedInClient(where)
  return { name, profile, client: new Client(profile.server, undefined, 'device', name, profile.team) }
}

/**
 * Returns a client for commands that also work with the copy. THE place that decides between server and copy: a command
 * uses the server as long as it responds, and the copy from the first request that did not reach it, or from the start
 * with --offline.
 */
export function workingClient({ offline, ...where }: WhereOrOffline): Client {
  const who = signedInOrCarried(where)
  const owner = copyOwner(who)
  const isCarried = who.profile.kind === 'carried'
  const why = isCarried
    ? 'Offline: this computer reaches the server only through bundles'
    : offline
      ? 'Offline (--offline)'
      : undefined
  if (owner && hasCopy(owner)) return new WorkingClient(who, owner, why)
  if (!offline && !isCarried) return who.client
  throw new AppError('not_found', 'There is no copy of this server on this computer. Create one: tutti sync on')
}

class WorkingClient extends Client {
  #local: Promise<Responder> | undefined

  constructor(
    private readonly who: SignedIn,
    private readonly owner: Owner,
    /** Why the copy is used from the start, if it is. */
    offline: string | undefined,
  ) {
    const { server, keeper, kind, profile, team } = who.client
    super(server, keeper, kind, profile, team)
    if (offline) this.#local = this.#open(offline)
  }

  override async request<T>(method: string, path: string, body?: object): Promise<T> {
    if (!this.#local) {
      try {
        return await this.#online<T>(method, path, body)
      } catch (error) {
        const { isOutOfReach } = await import('./offline/reachability.ts')
        if (!isOutOfReach(error, method)) throw error
        this.#local = this.#open(`Offline: ${this.server} cannot be reached`)
      }
    }
    return (await this.#local)(method, path, body) as T
  }

  /** Replaces the local names of new records by their ids, which the server knows. */
  async #online<T>(method: string, path: string, body?: object): Promise<T> {
    if (!/~/.test(path) && !(body && JSON.stringify(body).includes('~'))) return super.request<T>(method, path, body)
    const { withIds } = await import('./local-names.ts')
    const { Copy } = await import('./copy.ts')
    const copy = new Copy(this.owner)
    try {
      return await super.request<T>(method, ...withIds(copy, path, body))
    } finally {
      copy.close()
    }
  }

  async #open(why: string): Promise<Responder> {
    const [{ Copy }, { LocalApi }] = await Promise.all([import('./copy.ts'), import('./offline/local-api.ts')])
    const copy = new Copy(this.owner)
    const local = new LocalApi(copy, this.who.profile.user ?? unknownPerson, this.team)
    const at = copy.get('pulledAt')
    printNote(
      `${why}. Using the copy on this computer, ${at ? `last synced ${timeAgo(at)}` : 'which was never synced completely'}.`,
    )
    let said = false
    return (method, path, body) => {
      const before = copy.changes
      const answer = local.request(method, path, body)
      if (!said && copy.changes !== before) {
        said = true
        const way =
          this.who.profile.kind === 'carried'
            ? 'Write it to a file for the server: tutti sync export'
            : 'Send it when the server can be reached: tutti sync'
        printNote(`Your change is queued. ${way}`)
      }
      return answer
    }
  }
}

/** The user is unknown until the first response bundle is imported. */
const unknownPerson = { id: '', name: 'You', email: '' }

type Responder = (method: string, path: string, body?: object) => unknown
