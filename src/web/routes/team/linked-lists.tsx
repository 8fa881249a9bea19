/** What a team shares and where its code is: workspaces and repositories, each with a page of its own. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import type { FormEvent, ReactNode } from 'react'
import { Field } from '../../components/form/fields.tsx'
import { LoadStatus, ProblemBox } from '../../components/states.tsx'
import { ago } from '../../lib/times.ts'
import { repositoriesQuery, useConnectRepository, useCreateWorkspace, workspacesQuery } from './queries.ts'
import { words } from './words.ts'

export function TeamWorkspaces({ team }: { team: string }) {
  const { data, error } = useQuery(workspacesQuery(team))
  const create = useCreateWorkspace(team)
  const navigate = useNavigate()
  const open = ({ id }: { id: string }) => void navigate({ to: '/workspaces/$id', params: { id } })
  return (
    <LinkedList
      title={words.workspaces}
      about={words.workspacesAbout}
      none={words.noWorkspaces}
      items={data?.items}
      error={error}
      row={({ id, name, counts, status }) => (
        <Link className="row wide" to="/workspaces/$id" params={{ id }}>
          <b className="b5 cut grow">{name}</b>
          {status === 'archived' && <span className="flag">{status}</span>}
          <span className="soft t12">{words.sharing(counts.teams, counts.projects)}</span>
        </Link>
      )}
    >
      {data?.can?.create === true && (
        <AddForm
          label={words.newWorkspace}
          verb={words.create}
          busy={create.isPending}
          error={create.error}
          onAdd={(name) => create.mutate(name, { onSuccess: open })}
        />
      )}
    </LinkedList>
  )
}

export function TeamRepositories({ team }: { team: string }) {
  const { data, error } = useQuery(repositoriesQuery(team))
  const connect = useConnectRepository(team)
  const navigate = useNavigate()
  const open = ({ id }: { id: string }) => void navigate({ to: '/repos/$id', params: { id } })
  return (
    <LinkedList
      title={words.repositories}
      about={words.repositoriesAbout}
      none={words.noRepositories}
      items={data?.items}
      error={error}
      row={({ id, owner, name, status, syncedAt }) => (
        <Link className="row wide" to="/repos/$id" params={{ id }}>
          <b className="b5 cut grow">
            {owner}/{name}
          </b>
          {status !== 'ready' && <span className="flag">{words.repoStatus[status]}</span>}
          {syncedAt && <span className="soft t12">{words.lastSeen(ago(syncedAt))}</span>}
        </Link>
      )}
    >
      {data?.can?.connect === true && (
        <AddForm
          label={words.newRepository}
          verb={words.connect}
          busy={connect.isPending}
          error={connect.error}
          onAdd={(repo) => connect.mutate(repo, { onSuccess: open })}
        />
      )}
    </LinkedList>
  )
}

interface PlacesProps<T> {
  title: string
  about: string
  none: string
  items: readonly T[] | undefined
  error: Error | null
  row(item: T): ReactNode
  children: ReactNode
}

function LinkedList<T extends { id: string }>({ title, about, none, items, error, row, children }: PlacesProps<T>) {
  return (
    <section className="stack" aria-label={title}>
      <h2 className="h2">
        {title} {items && <span className="soft t12">{items.length}</span>}
      </h2>
      <p className="soft">{about}</p>
      <LoadStatus of={{ data: items, error }} />
      {items?.length === 0 && <p className="soft">{none}</p>}
      {items && items.length > 0 && (
        <ul className="sheet">
          {items.map((item) => (
            <li key={item.id} className="prow">
              {row(item)}
            </li>
          ))}
        </ul>
      )}
      {children}
    </section>
  )
}

interface AddProps {
  label: string
  verb: string
  busy: boolean
  error: Error | null
  onAdd(text: string): void
}

function AddForm({ label, verb, busy, error, onAdd }: AddProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    onAdd(String(new FormData(event.currentTarget).get('text')).trim())
  }
  return (
    <form className="stack" onSubmit={submit}>
      <div className="row inviteform">
        <Field label={label} grow name="text" required maxLength={100} autoComplete="off" />
        <button type="submit" className="btn" disabled={busy}>
          {verb}
        </button>
      </div>
      {error && <ProblemBox error={error} />}
    </form>
  )
}
