import { useState } from 'react'
import { ProblemBox } from '../../components/states.tsx'
import { words as common } from '../../words.ts'
import type { PlanKind } from './model.ts'
import { useAddEntry } from './queries.ts'
import { words } from './words.ts'

export interface EntryPlace {
  kind: PlanKind
  parent: string | null
  epicId: string | null
  /** The title of what it is added to. */
  to: string
}

/** Adds one entry after the other, until Escape. */
export function AddEntryForm({ slug, adding, onClose }: { slug: string; adding: EntryPlace; onClose(): void }) {
  const [title, setTitle] = useState('')
  const add = useAddEntry(slug)
  const { to, ...place } = adding
  return (
    <form
      className="querywrap stack"
      aria-label={words.add(adding.kind, to)}
      onSubmit={(event) => {
        event.preventDefault()
        const wanted = title.trim()
        if (wanted === '' || add.isPending) return
        add.mutate({ ...place, title: wanted }, { onSuccess: () => setTitle('') })
      }}
    >
      <span className="row">
        <input
          key={`${adding.kind} ${adding.parent}`}
          className="input grow"
          aria-label={words.newTitle(adding.kind)}
          placeholder={words.add(adding.kind, to)}
          maxLength={200}
          value={title}
          ref={(input) => input?.focus()}
          onChange={(event) => setTitle(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Escape' && onClose()}
        />
        <button type="button" className="btn small" onClick={onClose}>
          {common.cancel}
        </button>
      </span>
      {add.error && <ProblemBox error={add.error} />}
    </form>
  )
}
