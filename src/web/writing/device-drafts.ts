/**
 * Drafts: texts that the server does not have yet. They stay on this device for 30 days, so that they survive a closed
 * tab, a refusal and a lost connection. Signing out removes them.
 */

const DAYS = 30
const PREFIX = 'draft'

interface Stored<T> {
  /** Milliseconds since 1970. */
  at: number
  value: T
}

/** Used where the browser stores nothing, or no more. */
const inMemory = new Map<string, string>()

const keyOf = (userId: string, name: string): string => `${PREFIX}:${userId}:${name}`

export function readDraft<T>(userId: string, name: string): T | undefined {
  const key = keyOf(userId, name)
  return parse<T>(inMemory.get(key) ?? readItem(key))?.value
}

/** Undefined removes the draft. */
export function writeDraft<T>(userId: string, name: string, value: T | undefined): void {
  const key = keyOf(userId, name)
  inMemory.delete(key)
  try {
    if (value === undefined) localStorage.removeItem(key)
    else localStorage.setItem(key, JSON.stringify({ at: Date.now(), value }))
  } catch {
    if (value !== undefined) inMemory.set(key, JSON.stringify({ at: Date.now(), value }))
  }
}

function readItem(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

function parse<T>(text: string | null | undefined): Stored<T> | undefined {
  if (!text) return undefined
  try {
    const stored = JSON.parse(text) as Stored<T>
    return Date.now() - stored.at < DAYS * 86_400_000 ? stored : undefined
  } catch {
    return undefined
  }
}

/** Removes the drafts that are too old. */
export const removeOldDrafts = (): void => removeWhere((text) => !parse(text))

/** Removes all drafts when someone signs out, because others may use the same device. */
export function removeDrafts(): void {
  inMemory.clear()
  removeWhere(() => true)
}

function removeWhere(isUnwanted: (text: string | null) => boolean): void {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(`${PREFIX}:`))
    for (const key of keys) if (isUnwanted(localStorage.getItem(key))) localStorage.removeItem(key)
  } catch {
    // The browser stores nothing.
  }
}
