import type { Statement } from '../db/driver.ts'
import type { EventActor } from './actor.ts'

/** A row of `events`, as it is emitted and delivered. */
export interface AppEvent {
  id: string
  at: string
  type: string
  action: string
  actor: EventActor
  credentialId: string | null
  organizationId: string | null
  projectId: string | null
  userId: string | null
  subjectId: string | null
  data: Record<string, unknown>
  requestId: string
  ip: string | null
  origin: string
}

const names = [
  'id', 'at', 'type', 'action', 'actor_kind', 'actor_id', 'actor_name', 'actor_client', 'actor_for_id', 'actor_for_name',
  'credential_id', 'organization_id', 'project_id', 'user_id', 'subject_id', 'data', 'request_id', 'ip', 'origin',
] // biome-ignore format: a list of columns
const placeholders = names.map((name, i) => (name === 'data' ? `$${i + 1}::text::jsonb` : `$${i + 1}`))
/**
 * The active work session of the caller's credential and connection, or of a closed connection. The statement looks it
 * up itself, through a small index: a separate query would be another round trip.
 */
const connection = `$${names.length + 1}::text`
const session = `(select id from sessions where credential_id = $11::uuid and status = 'active'
  and (connection is not distinct from ${connection} or connection_closed_at is not null)
  order by connection is not distinct from ${connection} desc, updated_at desc limit 1)`
const insertText = `insert into events (${names.join(', ')}, session_id)
  values (${placeholders.join(', ')}, ${session})`

export const insertEvent = (e: AppEvent, connection?: string): Statement => ({
  text: insertText,
  params: [
    e.id, e.at, e.type, e.action, e.actor.kind, e.actor.id, e.actor.name, e.actor.client ?? null,
    e.actor.for?.id ?? null, e.actor.for?.name ?? null, e.credentialId, e.organizationId, e.projectId, e.userId,
    e.subjectId, JSON.stringify(e.data), e.requestId, e.ip, e.origin, connection ?? null,
  ], // biome-ignore format: in the order of the columns
})
