/** Finds a task or a story by what one types, and chooses it. */
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ok, search } from '../../api.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { words } from '../task/words.ts'

const foundQuery = (kind: 'task' | 'story', projectId: string | undefined, q: string) =>
  queryOptions({
    queryKey: ['suggestions', kind, projectId, q],
    queryFn: async () =>
      (
        await ok(
          search.search.suggestions.get({
            query: { kinds: kind, limit: 10, ...(q && { q }), ...(projectId && { projectId }) },
          }),
        )
      ).items,
    placeholderData: keepPreviousData,
  })

interface Props {
  title: string
  kind: 'task' | 'story'
  /** Only those of this project. */
  projectId?: string
  /** Ids that cannot be chosen. */
  without: readonly string[]
  /** What choosing nothing is called, if that is possible. */
  none?: string | undefined
  onChoose(id: string, found: { key: string | null; title: string }): void
  onNone?(): void
  onClose(): void
}

export default function RecordChooser({ title, kind, projectId, without, none, onChoose, onNone, onClose }: Props) {
  const [text, setText] = useState('')
  const { data = [], error } = useQuery(foundQuery(kind, projectId, text.trim()))
  const found = data.filter(({ id }) => !without.includes(id))
  const choose = (one: (typeof found)[number]) => {
    onChoose(one.id, one)
    onClose()
  }
  return (
    <Dialog title={title} open onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (found[0] && text.trim() !== '') choose(found[0])
        }}
      >
        <input
          className="input"
          aria-label={words.findBy}
          placeholder={words.findBy}
          value={text}
          maxLength={200}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {error && <ProblemBox error={error} />}
        <ul className="choices" aria-label={words.found}>
          {none && (
            <li>
              <button
                type="button"
                className="opt"
                onClick={() => {
                  onNone?.()
                  onClose()
                }}
              >
                <span className="soft">{none}</span>
              </button>
            </li>
          )}
          {found.map((one) => (
            <li key={one.id}>
              <button type="button" className="opt" onClick={() => choose(one)}>
                {kind === 'task' && <span className="soft">{one.key}</span>}
                <span className="grow cut">{one.title}</span>
              </button>
            </li>
          ))}
        </ul>
        {found.length === 0 && <p className="soft">{words.noneFound}</p>}
      </form>
    </Dialog>
  )
}
