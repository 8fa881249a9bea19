/** The members and agents of the team that are online. */
import type { UserOrAgent } from '../../records/user-or-agent.ts'
import { createStore } from '../lib/store.ts'

interface PresentParty extends UserOrAgent {
  id: string
  /** Only agents: the task that it works on. */
  state: { task?: string } | null
}

export interface PresenceMessage {
  all?: PresentParty[]
  joined?: PresentParty[]
  changed?: PresentParty[]
  left?: { type: string; id: string }[]
}

const present = createStore<readonly PresentParty[]>([])
export const usePresence = present.use
/** Presence is unknown without a connection. */
export const clearPresence = (): void => present.set([])

/** Applies a message of the hub: the whole list, or who joined, changed and left. */
export function applyPresence({ all, joined = [], changed = [], left = [] }: PresenceMessage): void {
  if (all) {
    present.set(sortByName(all))
    return
  }
  const keyOf = ({ type, id }: { type: string; id: string }) => `${type}:${id}`
  const byKey = new Map(present.get().map((one) => [keyOf(one), one]))
  for (const one of left) byKey.delete(keyOf(one))
  for (const one of [...joined, ...changed]) byKey.set(keyOf(one), one)
  present.set(sortByName([...byKey.values()]))
}

const sortByName = (list: PresentParty[]): PresentParty[] => list.sort((a, b) => a.name.localeCompare(b.name))
