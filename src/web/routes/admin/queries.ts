import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { IssuePatch } from '../../../features/issues/schema.ts'
import { admin, change, issues, mail, notifications, ok } from '../../api.ts'

const LIMIT = 40

/** A list of the administration, page by page. */
const pages = <T>(key: readonly string[], load: (paging: { limit: number; cursor?: string }) => Promise<T>) =>
  infiniteQueryOptions({
    queryKey: ['admin', ...key],
    queryFn: ({ pageParam }) => load({ limit: LIMIT, ...(pageParam && { cursor: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: (page) => (page as { nextCursor?: string | null }).nextCursor ?? undefined,
  })

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
  pages(['users', search], (paging) => ok(admin.users.get({ query: { ...paging, ...(search && { search }) } })))
export const teamsQuery = (search: string) =>
  pages(['teams', search], (paging) => ok(admin.teams.get({ query: { ...paging, ...(search && { search }) } })))
export const auditQuery = (type: string) =>
  pages(['audit', type], (paging) => ok(admin.audit.get({ query: { ...paging, ...(type && { type }) } })))
export const outboxQuery = pages(['outbox'], (paging) => ok(mail.outbox.get({ query: paging })))
export const issuesQuery = pages(['issues'], (paging) => ok(issues.admin.issues.get({ query: paging })))
export const announcementsQuery = pages(['announcements'], (paging) =>
  ok(notifications.admin.notifications.get({ query: paging })),
)

/** Runs a change of the administration, and asks again for what its pages show. */
export function useAdminChange<I, O>(work: (input: I) => Promise<O>) {
  const cache = useQueryClient()
  return useMutation({ mutationFn: work, onSettled: () => cache.invalidateQueries({ queryKey: ['admin'] }) })
}

export const suspend = (id: string) => ok(admin.users({ id }).suspend.patch({}, change()))
export const unsuspend = (id: string) => ok(admin.users({ id }).unsuspend.patch(undefined, change()))
export const impersonate = ({ id, reason }: { id: string; reason: string }) =>
  ok(admin.users({ id }).impersonate.post({ reason }, change()))
export const resend = (id: string) => ok(mail.outbox({ id }).resend.post(undefined, change()))
export const makeBackup = (_: undefined) => ok(admin.backups.post(undefined, change()))
export const announce = (text: { title: string; message?: string }) =>
  ok(notifications.admin.notifications.send.post(text, change()))
export const changeIssue = ({ id, ...patch }: IssuePatch & { id: string }) =>
  ok(issues.admin.issues({ id }).patch(patch, change()))
