import type { EventActor } from '../../events/actor.ts'
import { type EventCatalogue, isHandLogged } from '../../events/catalogue.ts'
import { describeEvent } from '../../events/words.ts'

/** The part of a row of the audit log that its sentence needs. */
export interface AuditRow {
  type: string
  action: string
  actor: EventActor
  impersonatorId: string | null
  userId: string | null
  data: Record<string, unknown>
}

/** Kinds of events that are about a person, whom `userId` names. */
const personal: readonly (string | undefined)[] = ['user', 'auth', 'login_session', 'member']

/** Describes a row of the audit log: `Ada Lovelace suspended Grace Hopper: spam`. */
export function auditSentence(
  catalogue: EventCatalogue,
  row: AuditRow,
  nameOf: (userId: string | null) => string | undefined,
): string {
  const { type, action, data } = row
  // An action without an event, such as a read by an administrator who acts as a user.
  const isCall = type === action && !catalogue.get(type)
  const phrase = isCall
    ? `called the action ${type}`
    : isHandLogged(type)
      ? `logged ${type}: ${describeEvent(catalogue, type, data)}`
      : describeEvent(catalogue, type, data, subjectOf(catalogue, row, nameOf))
  return `${actorOf(catalogue, row, nameOf)} ${phrase}`
}

function actorOf(catalogue: EventCatalogue, row: AuditRow, nameOf: (id: string | null) => string | undefined): string {
  const { actor, impersonatorId, userId, type } = row
  if (impersonatorId) return `${nameOf(impersonatorId) ?? 'An administrator'} as ${actor.name}`
  if (actor.kind === 'system') return 'The server'
  // Nobody has signed in yet: the person of the account, unless anybody could have done it.
  if (actor.kind === 'anonymous') return (catalogue.kindOf(type) === 'auth' ? undefined : nameOf(userId)) ?? 'Someone'
  return actor.for ? `${actor.name} for ${actor.for.name}` : actor.name
}

function subjectOf(
  catalogue: EventCatalogue,
  { type, userId, actor }: AuditRow,
  nameOf: (id: string | null) => string | undefined,
): string | undefined {
  const kind = catalogue.kindOf(type)
  if (!personal.includes(kind)) return undefined
  const isOwn = actor.id === userId || (actor.kind === 'anonymous' && kind !== 'auth')
  if (isOwn && userId) return kind === 'member' ? 'themselves' : 'their account'
  return nameOf(userId) ?? 'an unknown account'
}
