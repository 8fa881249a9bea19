import type { FormEvent } from 'react'
import { Field } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'

interface Props {
  label: string
  verb: string
  mutation: { isPending: boolean; error: Error | null }
  onSubmit(name: string): void
}

/** One field for a name, and a button. */
export function NameForm({ label, verb, mutation, onSubmit }: Props) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    onSubmit(String(new FormData(event.currentTarget).get('name')).trim())
  }
  return (
    <form className="row inviteform" onSubmit={submit}>
      <Field label={label} grow name="name" required maxLength={100} pattern=".*\S.*" />
      <button type="submit" className="btn main" disabled={mutation.isPending}>
        {verb}
      </button>
      {mutation.error && <ProblemBox error={mutation.error} />}
    </form>
  )
}
