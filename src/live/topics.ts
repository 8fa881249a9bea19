import { sql } from 'drizzle-orm'
import type { Actor } from '../auth/actor.ts'
import { isWithinLimit } from '../auth/limit.ts'
import { rightsOf } from '../auth/rights.ts'
import { and } from '../db/conditions.ts'
import type { AppEvent } from '../events/event.ts'
import { mayRead } from '../records/readable.ts'
import { type Audience, type EventAccess, readsEverything, seesProject } from './audience.ts'
import type { HubApp } from './hub-app.ts'

/** What a client subscribes to: `organization:<id>`, `project:<id>`, `record:<id>`, `presence:<one of these>`, `me`. */
export type Topic = string

const PLACE = /^(organization|project|record):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
const PRESENCE = 'presence:'

export const isBaseTopic = (topic: Topic): boolean => PLACE.test(topic)
export const isTopic = (topic: Topic): boolean => topic === 'me' || isBaseTopic(baseTopicOf(topic))
export const isPresenceTopic = (topic: Topic): boolean => topic.startsWith(PRESENCE)
export const presenceTopicOf = (place: Topic): Topic => `${PRESENCE}${place}`

/** Returns the topic without `presence:`. It decides who may subscribe. */
export const baseTopicOf = (topic: Topic): Topic => (isPresenceTopic(topic) ? topic.slice(PRESENCE.length) : topic)

/** Returns the topics of an event. */
export const topicsOf = ({ organizationId, projectId, subjectId }: AppEvent): Topic[] =>
  [
    organizationId && `organization:${organizationId}`,
    projectId && `project:${projectId}`,
    subjectId && `record:${subjectId}`,
  ].filter((topic) => typeof topic === 'string')

/** The internal name of the topic `me` of a user. */
export const ownTopic = (userId: string): Topic => `me:${userId}`

/**
 * Returns true if an event of the topics `of` is for a listener with this access that has subscribed to these topics.
 */
export function isWanted(of: readonly Topic[], { shared, own }: EventAccess, topics: ReadonlySet<Topic>): boolean {
  if (own) return true
  return shared && of.some((topic) => topics.has(topic))
}

/** Returns the topics that were not granted, as the client receives them. */
export const topicRefusals = (
  topics: readonly Topic[],
  granted: ReadonlySet<Topic>,
): { topic: Topic; code: string }[] =>
  [...new Set(topics)].flatMap((topic) =>
    granted.has(topic) ? [] : { topic, code: isTopic(topic) ? 'not_found' : 'invalid' },
  )

/** Decides which topics an actor may subscribe to, by the actor's current rights. */
export class TopicAccess {
  constructor(
    private readonly on: Pick<HubApp, 'db' | 'records' | 'watchable'>,
    private readonly audience: Audience,
  ) {}

  async refusedTopics(actor: Actor, topics: readonly Topic[]): Promise<Set<Topic>> {
    const places = new Map(topics.map((topic) => [topic, PLACE.exec(baseTopicOf(topic))]))
    const ids = (kind: string) => [...places.values()].flatMap((m) => (m?.[1] === kind ? [m[2] as string] : []))
    const projects = ids('project')
    const [, readable] = await Promise.all([
      this.audience.projects.load(projects),
      this.#watchable(actor, new Set(ids('record'))),
    ])
    return new Set(topics.filter((topic) => !this.#may(actor, topic, places.get(topic) ?? null, readable)))
  }

  #may(actor: Actor, topic: Topic, place: RegExpExecArray | null, readable: ReadonlySet<string>): boolean {
    if (topic === 'me') return readsEverything(actor) && !actor.bound
    const [, kind, id = ''] = place ?? []
    if (kind === 'organization') return isWithinLimit(actor, null) && actor.memberships.has(id)
    if (kind === 'record') return readable.has(id)
    const project = this.audience.projects.get(id)
    return kind === 'project' && project !== undefined && seesProject(actor, project)
  }

  async #watchable(actor: Actor, ids: ReadonlySet<string>): Promise<Set<string>> {
    const readable = await this.#readable(actor, ids)
    const others = [...ids].filter((id) => !readable.has(id))
    return others.length === 0 ? readable : readable.union(new Set(await this.on.watchable(actor, others)))
  }

  /** Returns the records that the actor can read, with one statement for all kinds. */
  async #readable(actor: Actor, ids: ReadonlySet<string>): Promise<Set<string>> {
    const kinds = this.on.records.all.filter(({ kind }) => mayRead({ actor, app: this.on }, kind))
    if (ids.size === 0 || kinds.length === 0) return new Set()
    const wanted = `{${[...ids].join(',')}}`
    const rights = rightsOf(actor)
    const of = ({ table, visible }: (typeof kinds)[number]) =>
      sql`select ${table.id} as id from ${table}
        where ${and(sql`${table.id} = any(${wanted}::uuid[])`, visible(rights))}`
    const { rows } = await this.on.db.execute<{ id: string }>(sql.join(kinds.map(of), sql` union all `))
    return new Set(rows.map(({ id }) => id))
  }
}
