/** The members and agents of the team that are online. */
import type { Party } from '../records/party.ts'
import { store } from './store.ts'

interface Present extends Party {
  id: string
  /** Only agents: the task that it works on. */
  state: { task?: string } | null
}

export interface PresenceMessage {
  all?: Present[]
  joined?: Present[]
  changed?: Present[]
  left?: { type: string; id: string }[]
}

const present = store<readonly Present[]>([])
export const usePresent = present.use
/** Presence is unknown without a connection. */
export const nobody = (): void => present.set([])

/** Applies a message of the hub: the whole list, or who joined, changed and left. */
export function presenceHeard({ all, joined = [], changed = [], left = [] }: PresenceMessage): void {
  if (all) {
    present.set(inOrder(all))
    return
  }
  const keyOf = ({ type, id }: { type: string; id: string }) => `${type}:${id}`
  const byKey = new Map(present.get().map((one) => [keyOf(one), one]))
  for (const one of left) byKey.delete(keyOf(one))
  for (const one of [...joined, ...changed]) byKey.set(keyOf(one), one)
  present.set(inOrder([...byKey.values()]))
}

const inOrder = (list: Present[]): Present[] => list.sort((a, b) => a.name.localeCompare(b.name))
