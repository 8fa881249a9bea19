import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { Role } from '../../../auth/policy.ts'
import type { AdminUser, Subscription } from '../../../features/admin/schema.ts'
import type { OauthClientAdd } from '../../../features/grants/schema.ts'
import type { IssuePatch } from '../../../features/issues/schema.ts'
import type { OrganizationPatch } from '../../../features/organizations/schema.ts'
import { admin, grants, issues, mail, notifications, ok, writeOptions } from '../../api.ts'
import { pagedQuery } from '../../lib/data.ts'
import { words } from './words.ts'

interface Paging {
  limit: number
  cursor?: string
}

/** A list of the administration, page by page. */
export const adminList = <T extends { nextCursor: string | null }>(
  key: readonly string[],
  load: (paging: Paging) => Promise<T>,
) => pagedQuery(['admin', ...key], (page) => load({ limit: 40, ...page }))

export const stateQuery = queryOptions({
  queryKey: ['admin', 'system'],
  queryFn: () => ok(admin.system.get()),
  refetchInterval: 30_000,
})
export const doctorQuery = queryOptions({ queryKey: ['admin', 'doctor'], queryFn: () => ok(admin.doctor.get()) })
export const jobsQuery = queryOptions({ queryKey: ['admin', 'jobs'], queryFn: () => ok(admin.jobs.get()) })
export const configQuery = queryOptions({ queryKey: ['admin', 'config'], queryFn: () => ok(admin.config.get()) })
export const backupsQuery = queryOptions({ queryKey: ['admin', 'backups'], queryFn: () => ok(admin.backups.get()) })

export const usersQuery = (search: string) =>
  adminList(['users', search], (paging) => ok(admin.users.get({ query: { ...paging, ...(search && { search }) } })))
export const teamsQuery = (search: string) =>
  adminList(['teams', search], (paging) => ok(admin.teams.get({ query: { ...paging, ...(search && { search }) } })))
export interface AuditFilter {
  /** Part of a name or address. */
  person?: string
  /** The beginning of the type. */
  type?: string
  /** A day of this time zone: 2026-11-18. */
  day?: string
}

export const auditQuery = ({ day, ...filter }: AuditFilter) =>
  adminList(['audit', JSON.stringify({ day, ...filter })], (paging) =>
    ok(admin.audit.get({ query: { ...paging, ...filter, ...(day && daySpan(day)) } })),
  )

function daySpan(day: string): { since: string; until: string } {
  const start = new Date(`${day}T00:00`)
  const end = new Date(start)
  end.setDate(end.getDate() + 1)
  return { since: start.toISOString(), until: end.toISOString() }
}

export const outboxQuery = adminList(['outbox'], (paging) => ok(mail.outbox.get({ query: paging })))
export const issuesQuery = adminList(['issues'], (paging) => ok(issues.admin.issues.get({ query: paging })))
export const announcementsQuery = adminList(['announcements'], (paging) =>
  ok(notifications.admin.notifications.get({ query: paging })),
)

export const programsQuery = adminList(['programs'], (paging) =>
  ok(grants.admin['oauth-clients'].get({ query: paging })),
)

export const userQuery = (id: string) =>
  queryOptions({ queryKey: ['admin', 'user', id], queryFn: () => ok(admin.users({ id }).get()) })
export const userTeamsQuery = (id: string) =>
  adminList(['user', id, 'teams'], (paging) => ok(admin.users({ id }).teams.get({ query: paging })))
export const userSessionsQuery = (id: string) =>
  adminList(['user', id, 'sessions'], (paging) => ok(admin.users({ id }).sessions.get({ query: paging })))
export const userEventsQuery = (id: string) =>
  adminList(['user', id, 'events'], (paging) => ok(admin.audit.get({ query: { ...paging, userId: id } })))
export const teamQuery = (id: string) =>
  queryOptions({ queryKey: ['admin', 'team', id], queryFn: () => ok(admin.teams({ id }).get()) })

/** Runs a change of the administration, and asks again for what its pages show: all, or the lists of this name. */
export function useAdminChange<I, O>(work: (input: I) => Promise<O>, shown?: string) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: work,
    onSettled: (_, error) => cache.invalidateQueries({ queryKey: shown && !error ? ['admin', shown] : ['admin'] }),
  })
}

export const suspendUser = (id: string) => ok(admin.users({ id }).suspend.patch({}, writeOptions()))
export const unsuspendUser = (id: string) => ok(admin.users({ id }).unsuspend.patch(undefined, writeOptions()))
export const impersonateUser = ({ id, reason }: { id: string; reason: string }) =>
  ok(admin.users({ id }).impersonate.post({ reason }, writeOptions()))
export const setUserRole = ({ id, role }: { id: string; role: AdminUser['role'] }) =>
  ok(admin.users({ id }).role.patch({ role }, writeOptions()))
export const resetPassword = (id: string) => ok(admin.users({ id }).password.post(undefined, writeOptions()))
export const readSignInCode = (id: string) => ok(admin.users({ id }).otp.get())
export const notifyUser = ({ id, ...text }: { id: string; title: string; message?: string }) =>
  ok(admin.users({ id }).notify.post(text, writeOptions()))

export const changeTeam = ({ id, version, ...patch }: OrganizationPatch & { id: string; version: number }) =>
  ok(admin.teams({ id }).patch(patch, writeOptions(version)))
export const removeTeam = ({ id, version }: { id: string; version: number }) =>
  ok(admin.teams({ id }).delete(undefined, writeOptions(version)))
export const setPlan = ({ userId, ...plan }: Subscription & { userId: string }) =>
  ok(admin.users({ id: userId }).subscription.post(plan, writeOptions()))

interface MemberChange {
  team: string
  userId: string
  role: Role
}
export const setMemberRole = ({ team, userId, role }: MemberChange) =>
  ok(admin.teams({ id: team }).members({ user_id: userId }).patch({ role }, writeOptions()))
export const removeMember = ({ team, userId }: Omit<MemberChange, 'role'>) =>
  ok(admin.teams({ id: team }).members({ user_id: userId }).delete(undefined, writeOptions()))

/** Adds the user with this address. */
export async function addMember({ team, email, role }: Omit<MemberChange, 'userId'> & { email: string }) {
  const { items } = await ok(admin.users.get({ query: { search: email, limit: 200 } }))
  const found = items.find((user) => user.email.toLowerCase() === email.toLowerCase())
  if (!found) throw new Error(words.team.nobody(email))
  return ok(admin.teams({ id: team }).members.post({ userId: found.id, role }, writeOptions()))
}

export const addProgram = (program: OauthClientAdd) => ok(grants.admin['oauth-clients'].post(program, writeOptions()))
/** An id may be an address. */
export const removeProgram = (id: string) =>
  ok(grants.admin['oauth-clients']({ id: encodeURIComponent(id) }).delete(undefined, writeOptions()))
export const resendMail = (id: string) => ok(mail.outbox({ id }).resend.post(undefined, writeOptions()))
export const makeBackup = (_: undefined) => ok(admin.backups.post(undefined, writeOptions()))
export const sendAnnouncement = (text: { title: string; message?: string }) =>
  ok(notifications.admin.notifications.send.post(text, writeOptions()))
export const changeIssue = ({ id, ...patch }: IssuePatch & { id: string }) =>
  ok(issues.admin.issues({ id }).patch(patch, writeOptions()))
