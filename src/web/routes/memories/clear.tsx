import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { count } from '../../words.ts'
import { memoryCountQuery, useClearMemories } from './queries.ts'
import type { MemorySubject } from './subjects.ts'
import { words } from './words.ts'

const memories = (n: number) => count(n, 'memory', 'memories')

/** Deletes all that is remembered about something, after its name was typed. */
export function ClearDialog({ about, onClose }: { about: MemorySubject; onClose(): void }) {
  const place = { scope: about.scope, scopeId: about.id }
  const { data: there, error, refetch } = useQuery(memoryCountQuery(place))
  const clear = useClearMemories(place)
  const [typed, setTyped] = useState('')
  const act = (n: number) =>
    clear.mutate(n, {
      onSuccess: ({ removed }) => {
        if (!removed) return void refetch()
        toast({ title: words.cleared(memories(n)) })
        onClose()
      },
    })
  const refused = error ?? clear.error
  return (
    <Dialog title={words.clearTitle(about.name)} open onClose={onClose}>
      <form
        className="stack s4"
        onSubmit={(event) => {
          event.preventDefault()
          if (there !== undefined) act(there)
        }}
      >
        {there !== undefined && <p>{words.clearText(memories(there))}</p>}
        {clear.data?.removed === false && <p className="flag warn">{words.changedMeanwhile}</p>}
        <Field label={words.typeToConfirm(about.name)} value={typed} autoComplete="off" onText={setTyped} />
        {refused && <ProblemBox error={refused} />}
        <button
          type="submit"
          className="btn danger"
          disabled={typed !== about.name || there === undefined || there === 0 || clear.isPending}
        >
          {words.clearAct}
        </button>
      </form>
    </Dialog>
  )
}
