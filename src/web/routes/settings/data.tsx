import { useMutation, useSuspenseQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { useState } from 'react'
import { accounts, ok, readFile } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Section } from '../../components/section.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { meQuery } from '../../session.ts'
import { Page } from './parts.tsx'
import { titles, dataWords as w, words } from './words.ts'

export const Settings = () => (
  <Page title={titles.data}>
    <Export />
    <Delete />
  </Page>
)

/** Saves a file under this name, as a click on a link would. */
function save(file: Blob, name: string): void {
  const address = URL.createObjectURL(file)
  Object.assign(document.createElement('a'), { href: address, download: name }).click()
  URL.revokeObjectURL(address)
}

function Export() {
  const { team } = useRouteContext({ from: '/inside' })
  const load = useMutation({
    mutationFn: () => readFile('/api/sync/export'),
    onSuccess: (file) => save(file, `${team.slug}.ndjson`),
  })
  return (
    <Section title={w.export}>
      <div className="stack">
        <p className="soft">{w.exportText}</p>
        {load.error && <ProblemBox error={load.error} />}
        <p>
          <button type="button" className="btn" disabled={load.isPending} onClick={() => load.mutate()}>
            {load.isPending ? w.downloading : w.download}
          </button>
        </p>
      </div>
    </Section>
  )
}

function Delete() {
  const { email } = useSuspenseQuery(meQuery).data
  const [isAsking, setAsking] = useState(false)
  const [typed, setTyped] = useState('')
  const remove = useMutation({
    mutationFn: () => ok(accounts.auth.account.delete({ confirm: typed.trim() })),
    onSuccess: () => location.assign('/login'),
  })
  return (
    <Section title={w.delete}>
      <div className="stack">
        <p className="soft">{w.deleteText}</p>
        <p>
          <button type="button" className="btn danger" onClick={() => setAsking(true)}>
            {w.deleteAct}
          </button>
        </p>
      </div>
      {isAsking && (
        <Confirm
          title={w.delete}
          verb={w.deleteForEver}
          cancel={words.cancel}
          busy={remove.isPending || typed.trim() !== email}
          error={remove.error}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsking(false)}
        >
          <p>{w.deleteText}</p>
          <label className="field">
            <span>{w.type(email)}</span>
            <input
              className="input"
              value={typed}
              autoComplete="off"
              onChange={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
        </Confirm>
      )}
    </Section>
  )
}
