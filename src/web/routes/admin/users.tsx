import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { AdminUser } from '../../../features/admin/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { MailAddress } from '../../components/mail-address.tsx'
import { ago, day } from '../../lib/times.ts'
import { AdminFrame, PagedTable, SearchForm } from './parts.tsx'
import { unsuspendUser, useAdminChange, usersQuery } from './queries.ts'
import { ImpersonateDialog, SuspendDialog } from './user-dialogs.tsx'
import { words } from './words.ts'

export function UsersPage() {
  const [search, setSearch] = useState('')
  const [asked, setAsked] = useState<{ user: AdminUser; act: 'suspend' | 'actAs' }>()
  const list = useInfiniteQuery(usersQuery(search))
  const restore = useAdminChange(unsuspendUser)
  const columns = words.users.columns
  const verb = (user: AdminUser, label: string, run: () => void) => (
    <button type="button" className="btn small quiet" aria-label={words.users.of(label, user.name)} onClick={run}>
      {label}
    </button>
  )
  return (
    <AdminFrame at="users">
      <SearchForm label={words.search} value={search} onFind={setSearch} />
      <PagedTable
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
      {asked?.act === 'suspend' && <SuspendDialog user={asked.user} onClose={() => setAsked(undefined)} />}
      {asked?.act === 'actAs' && <ImpersonateDialog user={asked.user} onClose={() => setAsked(undefined)} />}
    </AdminFrame>
  )
}
