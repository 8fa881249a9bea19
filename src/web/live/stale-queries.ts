/**
 * Which queries an event makes stale. `queriesByKind` is the only place that says which queries show which kind.
 */
import { kindInfo, recordNames } from '../../records/names.ts'
import { isFavourite } from '../account/session.ts'
import { closeOlderToasts } from '../components/toasts.tsx'
import { queryClient } from '../query-client.ts'
import { taskCompleted, taskUpdated } from './event-types.ts'
import { InvalidationQueue } from './invalidation-queue.ts'
import { dispatchRecordEvent, type RecordEvent } from './record-events.ts'
import { lastWrittenVersion } from './written-versions.ts'

/** The queries of a kind of record: its list, one record, and the trash if a deleted one can be restored. */
const ofRecords = recordNames.flatMap((name): [string, string[]][] => {
  const { path, restorable } = kindInfo(name)
  return path ? [[name, [path.slice(1), name, ...(restorable ? ['trash'] : [])]]] : []
})

/** The first words of the keys of queries that show records of a kind. */
const queriesByKind: Record<string, readonly string[]> = {
  ...Object.fromEntries(ofRecords),
  task: ['tasks', 'task', 'feature', 'at work', 'plan', 'progress', 'epics', 'trash', 'projects/one', 'onboarding'],
  epic: ['plan', 'epics', 'trash'],
  story: ['plan', 'epics', 'trash'],
  plan: ['plan', 'tasks', 'epics', 'progress', 'onboarding'],
  comment: ['task', 'at work'],
  link: ['task', 'feature', 'decision', 'spec'],
  project: ['projects', 'trash'],
  attachment: ['note', 'files'],
  // A sync conflict has no event of its own, only a notification.
  notification: ['notifications', 'conflicts'],
  issue: ['issues', 'admin'],
  organization: ['teams'],
  member: ['members', 'teams'],
  mcp_token: ['tokens', 'onboarding'],
  grant: ['settings'],
  invite: ['invites'],
  mail: ['admin'],
  user: ['admin'],
  page: ['admin'],
  post: ['admin'],
  category: ['admin'],
  setting: ['admin'],
  sponsor: ['admin'],
  contact_message: ['admin'],
  community_post: ['admin', 'community'],
  marketplace_item: ['admin'],
  tracker: ['admin'],
  pull_request: ['feature'],
  view: ['views'],
  tunnel: ['tunnels', 'tunnel'],
  workspace: ['workspaces', 'projects'],
  workspace_invite: ['workspaces'],
  repository: ['repositories'],
}

/** Reloads the queries that events made stale: at most a few times a second, and only those on screen. */
const stale = new InvalidationQueue(
  (key) => void queryClient.invalidateQueries({ queryKey: key.split('/') }),
  () => queryClient.isMutating() > 0,
)

interface EventSummary extends RecordEvent {
  kind?: string | null
}

/** Changes of task fields. The page has already shown those that it made itself. */
const ofFields = new Set<string>([taskUpdated, taskCompleted])
const byFields = new Set(['tasks', 'task', 'at work'])

export function handleEvent(event: EventSummary): void {
  const { type, kind, subjectId, data } = event
  dispatchRecordEvent(event)
  const version = ofFields.has(type) ? Number(data?.version) : Number.NaN
  if (subjectId && version) closeOlderToasts(subjectId, version)
  const isNews = () => !(version <= lastWrittenVersion(subjectId ?? ''))
  for (const key of queriesByKind[kind ?? ''] ?? []) stale.add(key, byFields.has(key) ? isNews : undefined)
  if (isFavourite(queryClient, subjectId)) stale.add('favourites')
  // Feeds, the home page, the lanes and a replay show everything that happens.
  for (const key of ['newest', 'home', 'now', 'session']) stale.add(key)
}
