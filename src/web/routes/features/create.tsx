import { type FormEvent, useState } from 'react'
import type { FeatureItem } from '../../../features/workflow/schema.ts'
import { priorities } from '../../../records/work.ts'
import { newKey } from '../../api.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { priorityNames } from '../../words.ts'
import { useCreate } from './queries.ts'
import { words } from './words.ts'

interface Props {
  slug: string
  onClose(): void
  onCreated(id: string): void
}

export function CreateDialog({ slug, onClose, onCreated }: Props) {
  const create = useCreate(slug)
  const [key] = useState(newKey)
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const description = String(form.get('description') ?? '').trim()
    create.mutate(
      {
        key,
        title: String(form.get('title')).trim(),
        kind: form.get('kind') as FeatureItem['kind'],
        priority: form.get('priority') as FeatureItem['priority'],
        ...(description && { description }),
      },
      {
        onSuccess: ({ id }) => {
          onClose()
          onCreated(id)
        },
      },
    )
  }
  return (
    <Dialog title={words.create} open onClose={onClose}>
      <form className="stack s4" onSubmit={send}>
        <label className="field">
          <span>{words.name}</span>
          <input className="input" name="title" required maxLength={200} />
        </label>
        <div className="two">
          <label className="field">
            <span>{words.kind}</span>
            <select className="input" name="kind">
              {Object.entries(words.kinds).map(([kind, label]) => (
                <option key={kind} value={kind}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <label className="field">
            <span>{words.priority}</span>
            <select className="input" name="priority" defaultValue="medium">
              {priorities.map((priority) => (
                <option key={priority} value={priority}>
                  {priorityNames[priority]}
                </option>
              ))}
            </select>
          </label>
        </div>
        <label className="field">
          <span>{words.description}</span>
          <textarea className="input area" name="description" rows={4} maxLength={50_000} />
        </label>
        {create.error && <ProblemBox error={create.error} />}
        <button type="submit" className="btn main" disabled={create.isPending}>
          {words.createIt}
        </button>
      </form>
    </Dialog>
  )
}
