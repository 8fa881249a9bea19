/** Keeps the order of a list stable: rows that others add wait until the reader shows them. */
import { ArrowUp } from 'lucide-react'
import { useMemo, useState } from 'react'
import { lastWrittenVersion } from '../../live/written-versions.ts'

interface StableOrder<T> {
  /** Known rows keep their place and get their new content. */
  shown: readonly T[]
  /** How many wait. */
  waiting: number
  /** Shows everything, in its own order. */
  showAll(): void
}

/** `of` identifies the list: a new list is shown in its own order. */
export function useStableOrder<T extends { id: string }>(items: readonly T[], of: string): StableOrder<T> {
  const [held, setHeld] = useState({ of, ids: [] as readonly string[] })
  const before = held.of === of ? held.ids : none
  const ids = useMemo(() => stableIds(before, items), [before, items])
  // Rows that were shown once keep their place from then on.
  if (held.of !== of || ids !== before) setHeld({ of, ids })
  const shown = useMemo(() => {
    const byId = new Map(items.map((item) => [item.id, item]))
    return ids.flatMap((id) => byId.get(id) ?? [])
  }, [ids, items])
  return {
    shown,
    waiting: items.length - shown.length,
    showAll: () => setHeld({ of, ids: items.map(({ id }) => id) }),
  }
}

const none: readonly string[] = []

/**
 * Returns the rows to show: those from before that are still there, what follows the last of them, and what the page
 * itself has added. Returns `before` itself where nothing differs.
 */
function stableIds(before: readonly string[], items: readonly { id: string }[]): readonly string[] {
  const places = new Map(items.map(({ id }, place) => [id, place]))
  const known = new Set(before)
  const kept = before.filter((id) => places.has(id))
  const last = kept.reduce((most, id) => Math.max(most, places.get(id) ?? -1), -1)
  const next = [...kept]
  for (const [place, { id }] of items.entries()) {
    if (known.has(id)) continue
    if (kept.length === 0 || place > last) next.push(id)
    else if (lastWrittenVersion(id) > 0) next.splice(place, 0, id)
  }
  return next.length === before.length && next.every((id, place) => id === before[place]) ? before : next
}

interface PillProps {
  n: number
  children: string
  onShow(): void
}

export const NewItemsPill = ({ n, children, onShow }: PillProps) => (
  <div className="pill" role="status">
    {n > 0 && (
      <button type="button" className="btn small main" onClick={onShow}>
        <ArrowUp className="i s14" aria-hidden />
        {children}
      </button>
    )}
  </div>
)
