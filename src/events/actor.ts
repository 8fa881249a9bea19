import { events } from './table.ts'

/** The actor of an event. For an agent, also its program and the person it acts for. */
export interface EventActor {
  kind: string
  id: string | null
  name: string
  client?: string
  for?: { id: string | null; name: string }
}

/** The actor of an event as readers see it: the schema is `Doer` in records/user-or-agent.ts. */
interface PublicActor extends Omit<EventActor, 'kind'> {
  type: 'user' | 'agent' | 'system'
}

/** The part of an actor (auth/actor.ts) that events record. */
interface Caller {
  readonly kind: string
  readonly userId: string | null
  readonly name: string
  readonly agent?: { readonly id: string; readonly name: string; readonly client?: string }
}

export const actorColumns = {
  actorKind: events.actorKind,
  actorId: events.actorId,
  actorName: events.actorName,
  actorClient: events.actorClient,
  actorForId: events.actorForId,
  actorForName: events.actorForName,
}

export interface ActorRow {
  actorKind: string
  actorId: string | null
  actorName: string
  actorClient: string | null
  actorForId: string | null
  actorForName: string | null
}

/** Splits a row into its actor and the rest. */
export function groupActor<R extends ActorRow>(row: R) {
  const { actorKind: kind, actorId: id, actorName: name, actorClient, actorForId, actorForName, ...rest } = row
  const actor: EventActor = {
    kind,
    id,
    name,
    ...(actorClient !== null && { client: actorClient }),
    ...(actorForName !== null && { for: { id: actorForId, name: actorForName } }),
  }
  return { ...rest, actor }
}

/** Returns the actor of an event as readers see it. */
export const toPublicActor = ({ kind, ...who }: EventActor): PublicActor => ({
  type: kind === 'system' || kind === 'agent' ? kind : 'user',
  ...who,
})

/** Returns the actor to store: an agent under its own name, for the person whose token it uses. */
export const toEventActor = ({ kind, userId, name, agent }: Caller): EventActor =>
  agent
    ? {
        kind: 'agent',
        id: agent.id,
        name: agent.name,
        ...(agent.client !== undefined && { client: agent.client }),
        ...(userId !== null && { for: { id: userId, name } }),
      }
    : { kind, id: userId, name }
