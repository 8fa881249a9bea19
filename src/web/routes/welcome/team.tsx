import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { newIdempotencyKey } from '../../api.ts'
import { NameForm } from './name-form.tsx'
import { useCreateTeam } from './queries.ts'
import { words } from './words.ts'

/** The new team becomes that of this tab. */
export function TeamStep({ isFirst, onDone }: { isFirst: boolean; onDone(): void }) {
  const navigate = useNavigate()
  const [key] = useState(newIdempotencyKey)
  const create = useCreateTeam(isFirst)
  const submit = (name: string) =>
    create.mutate(
      { name, key },
      {
        onSuccess: async ({ slug }) => {
          await navigate({ to: '/welcome', search: { team: slug } })
          onDone()
        },
      },
    )
  return (
    <>
      <p className="soft">{words.team.about}</p>
      <NameForm label={words.team.name} verb={words.team.create} mutation={create} onSubmit={submit} />
    </>
  )
}
