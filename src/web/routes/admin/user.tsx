/** One user: who they are, how they sign in, where they belong, and what an administrator may do. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Fragment, type ReactNode, useState } from 'react'
import type { AdminUserDetail } from '../../../features/admin/schema.ts'
import { MailAddress } from '../../components/mail-address.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { ago, day } from '../../lib/times.ts'
import { browserName } from '../settings/browser-name.ts'
import { AdminFrame, AdminRecord, AuditCell, FactList, PagedTable } from './parts.tsx'
import {
  setUserRole,
  unsuspendUser,
  useAdminChange,
  userEventsQuery,
  userQuery,
  userSessionsQuery,
  userTeamsQuery,
} from './queries.ts'
import {
  ImpersonateDialog,
  NotifyDialog,
  ResetPasswordDialog,
  SignInCodeDialog,
  SuspendDialog,
} from './user-dialogs.tsx'
import { words } from './words.ts'

const route = getRouteApi('/inside/admin/users/$id')
const w = words.user

export function UserPage() {
  const { id } = route.useParams()
  return (
    <AdminRecord at="users" query={useQuery(userQuery(id))}>
      {(user) => <UserDetails user={user} />}
    </AdminRecord>
  )
}

function UserDetails({ user }: { user: AdminUserDetail }) {
  useCrumbs({ label: words.sections.users, to: '/admin/users' }, { label: user.name })
  return (
    <AdminFrame at="users" title={user.name}>
      <UserActions user={user} />
      <FactList
        of={[
          [
            w.email,
            <Fragment key={user.email}>
              <MailAddress of={user.email} />
              {!user.emailVerifiedAt && ` (${w.unconfirmed})`}
            </Fragment>,
          ],
          [w.handle, user.handle],
          [w.signIn, signsInBy(user.signIn)],
          [w.seen, user.lastSeenAt ? w.ago(ago(user.lastSeenAt)) : words.users.never],
          [w.since, day(user.createdAt)],
          [w.has, w.counts(user.counts)],
        ]}
      />
      <Teams id={user.id} />
      <Sessions id={user.id} />
      <History id={user.id} />
    </AdminFrame>
  )
}

const signsInBy = ({ password, passkeys, providers }: AdminUserDetail['signIn']): string =>
  [password && w.password, passkeys > 0 && w.passkeys(passkeys), ...providers].filter(Boolean).join(', ') || w.mailOnly

const dialogs = {
  suspend: SuspendDialog,
  actAs: ImpersonateDialog,
  reset: ResetPasswordDialog,
  code: SignInCodeDialog,
  notify: NotifyDialog,
}

function UserActions({ user }: { user: AdminUserDetail }) {
  const [asked, setAsked] = useState<keyof typeof dialogs>()
  const restore = useAdminChange(unsuspendUser)
  const setRole = useAdminChange(setUserRole)
  const problem = restore.error ?? setRole.error
  const { can } = user
  const verb = (label: string, act: keyof typeof dialogs) => (
    <button type="button" className="btn small" onClick={() => setAsked(act)}>
      {label}
    </button>
  )
  const Dialog = asked && dialogs[asked]
  return (
    <div className="stack">
      {problem && <ProblemBox error={problem} />}
      <div className="row wraps">
        {user.status === 'suspended' && <span className="flag bad">{user.status}</span>}
        {can.setRole === true ? (
          <select
            className="input slim"
            aria-label={w.role}
            value={user.role}
            disabled={setRole.isPending}
            onChange={(event) => setRole.mutate({ id: user.id, role: event.currentTarget.value as 'user' | 'admin' })}
          >
            {Object.entries(w.roles).map(([role, name]) => (
              <option key={role} value={role}>
                {name}
              </option>
            ))}
          </select>
        ) : (
          <span className="flag">{w.roles[user.role]}</span>
        )}
        {verb(w.notify, 'notify')}
        {can.readCode === true && verb(w.readCode, 'code')}
        {can.resetPassword === true && verb(w.reset, 'reset')}
        {can.impersonate === true && verb(words.users.actAs, 'actAs')}
        {user.status === 'active' && can.suspend === true && verb(words.users.suspend, 'suspend')}
        {user.status === 'suspended' && (
          <button type="button" className="btn" disabled={restore.isPending} onClick={() => restore.mutate(user.id)}>
            {words.users.unsuspend}
          </button>
        )}
      </div>
      {Dialog && <Dialog user={user} onClose={() => setAsked(undefined)} />}
    </div>
  )
}

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="stack">
    <h2 className="h2">{title}</h2>
    {children}
  </section>
)

function Teams({ id }: { id: string }) {
  const list = useInfiniteQuery(userTeamsQuery(id))
  const columns = w.teamColumns
  return (
    <Part title={w.teams}>
      <PagedTable
        list={list}
        columns={[
          {
            title: columns.name,
            of: (team) => (
              <Link className="b5 link" to="/admin/teams/$id" params={{ id: team.id }}>
                {team.name}
              </Link>
            ),
          },
          { title: columns.role, of: ({ role, personal }) => (personal ? words.teams.personal : role) },
          { title: columns.since, of: ({ joinedAt }) => day(joinedAt), wide: true },
        ]}
      />
    </Part>
  )
}

function Sessions({ id }: { id: string }) {
  const list = useInfiniteQuery(userSessionsQuery(id))
  const columns = w.sessionColumns
  return (
    <Part title={w.sessions}>
      <PagedTable
        list={list}
        columns={[
          {
            title: columns.device,
            of: ({ device, userAgent }) => device ?? (userAgent ? browserName(userAgent) : w.unknown),
          },
          {
            title: columns.via,
            of: ({ via, impersonatorId }) => (impersonatorId ? w.actedAs : via.replace('_', ' ')),
            wide: true,
          },
          { title: columns.ip, of: ({ ip }) => ip, wide: true },
          { title: columns.seen, of: ({ lastSeenAt }) => w.ago(ago(lastSeenAt)) },
          {
            title: columns.state,
            of: ({ revokedAt, expiresAt }) =>
              revokedAt || Date.parse(expiresAt) < Date.now() ? w.ended : <span className="flag good">{w.live}</span>,
          },
        ]}
      />
    </Part>
  )
}

function History({ id }: { id: string }) {
  const list = useInfiniteQuery(userEventsQuery(id))
  return (
    <Part title={w.history}>
      <PagedTable list={list} columns={[{ title: words.audit.entries, of: (entry) => <AuditCell entry={entry} /> }]} />
    </Part>
  )
}
