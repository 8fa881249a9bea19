import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import type { AdminUser } from '../../../features/admin/schema.ts'
import { actAs } from '../../acting.ts'
import { forgetTeam } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Avatar } from '../../components/party.tsx'
import { queries } from '../../queries.ts'
import { ago, day } from '../../times.ts'
import { AdminFrame, Find, Listed } from './frame.tsx'
import { impersonate, suspend, unsuspend, useAdminChange, usersQuery } from './queries.ts'
import { words } from './words.ts'

export function UsersPage() {
  const [search, setSearch] = useState('')
  const [asked, setAsked] = useState<{ user: AdminUser; act: 'suspend' | 'actAs' }>()
  const list = useInfiniteQuery(usersQuery(search))
  const restore = useAdminChange(unsuspend)
  const columns = words.users.columns
  const verb = (user: AdminUser, label: string, run: () => void) => (
    <button type="button" className="btn small quiet" aria-label={words.users.of(label, user.name)} onClick={run}>
      {label}
    </button>
  )
  return (
    <AdminFrame at="users">
      <Find label={words.search} value={search} onFind={setSearch} />
      <Listed
        list={list}
        columns={[
          {
            title: columns.name,
            of: (user) => (
              <span className="row">
                <Avatar party={{ type: 'user', id: user.id, name: user.name }} size="m" />
                <span className="stack who-t">
                  <b className="b5">{user.name}</b>
                  <span className="t12 soft">{user.email}</span>
                </span>
              </span>
            ),
          },
          { title: columns.role, of: ({ role }) => role, wide: true },
          {
            title: columns.status,
            of: ({ status }) => <span className={status === 'active' ? 'flag' : 'flag bad'}>{status}</span>,
          },
          {
            title: columns.seen,
            of: ({ lastSeenAt }) => (lastSeenAt ? ago(lastSeenAt) : words.users.never),
            wide: true,
          },
          { title: columns.since, of: ({ createdAt }) => day(createdAt), wide: true },
          {
            title: columns.act,
            of: (user) =>
              user.role !== 'admin' && (
                <span className="row wraps">
                  {user.status === 'active'
                    ? verb(user, words.users.suspend, () => setAsked({ user, act: 'suspend' }))
                    : verb(user, words.users.unsuspend, () => restore.mutate(user.id))}
                  {user.status === 'active' && verb(user, words.users.actAs, () => setAsked({ user, act: 'actAs' }))}
                </span>
              ),
          },
        ]}
      />
      {asked?.act === 'suspend' && <Suspension user={asked.user} onClose={() => setAsked(undefined)} />}
      {asked?.act === 'actAs' && <Impersonation user={asked.user} onClose={() => setAsked(undefined)} />}
    </AdminFrame>
  )
}

interface AskProps {
  user: AdminUser
  onClose(): void
}

function Suspension({ user, onClose }: AskProps) {
  const change = useAdminChange(suspend)
  return (
    <Confirm
      title={words.users.suspendTitle(user.name)}
      verb={words.users.suspend}
      cancel={words.cancel}
      busy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate(user.id, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>{words.users.suspendText}</p>
    </Confirm>
  )
}

/** From now on this tab is that person's, so all that was loaded is forgotten. */
function Impersonation({ user, onClose }: AskProps) {
  const router = useRouter()
  const [reason, setReason] = useState('')
  const change = useMutation({ mutationFn: impersonate })
  // This page goes first: it would be refused to the person.
  const begin = async ({ token = '', expiresAt }: { token?: string; expiresAt: string }) => {
    await router.navigate({ to: '/', search: { team: undefined } })
    actAs({ token, expiresAt, name: user.name })
    forgetTeam()
    queries.clear()
    await router.invalidate()
  }
  return (
    <Confirm
      title={words.users.actTitle(user.name)}
      verb={words.users.actAs}
      cancel={words.cancel}
      busy={change.isPending || reason.trim() === ''}
      error={change.error}
      onConfirm={() => change.mutate({ id: user.id, reason: reason.trim() }, { onSuccess: begin })}
      onClose={onClose}
    >
      <p>{words.users.actText}</p>
      <label className="field">
        <span>{words.users.reason}</span>
        <input
          className="input"
          value={reason}
          maxLength={500}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      </label>
    </Confirm>
  )
}
