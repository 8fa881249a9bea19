import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { AdminUser } from '../../../features/admin/schema.ts'
import { MailAddress } from '../../components/mail-address.tsx'
import { Avatar } from '../../components/party.tsx'
import { ago, day } from '../../times.ts'
import { AdminFrame, Find, Listed } from './frame.tsx'
import { unsuspend, useAdminChange, usersQuery } from './queries.ts'
import { Impersonation, Suspension } from './user-dialogs.tsx'
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
                  <Link className="b5 link" to="/admin/users/$id" params={{ id: user.id }}>
                    {user.name}
                  </Link>
                  <span className="t12 soft">
                    <MailAddress of={user.email} />
                  </span>
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
            acts: true,
            wide: true,
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
