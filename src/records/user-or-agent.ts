import { id, nullable, object, oneOf, optional, type Static, text } from '../schema.ts'
import { quoteName } from '../text/quoting.ts'

/** Fields that only agents have: the program that the agent runs in, and the person it acts for. */
export const agentFields = {
  client: optional(text(100, { description: 'The program that the agent runs in', example: 'Claude Code' })),
  for: optional(object({ id: nullable(id()), name: text(100, { example: 'Ada Lovelace' }) })),
}

const name = text(100, { example: 'Ada Lovelace' })

/** A person or an agent, as assignee, holder or author. */
export const UserOrAgent = object({ type: oneOf(['user', 'agent']), id: nullable(id()), name, ...agentFields })
export type UserOrAgent = Static<typeof UserOrAgent>

/** Who did something. */
export const ActorSummary = object({
  type: oneOf(['user', 'agent', 'system']),
  id: nullable(id()),
  name,
  ...agentFields,
})
export type ActorSummary = Static<typeof ActorSummary>

/** Returns the name as people read it: `Claude Code (laptop) for Ada`. */
export const fullName = ({ name, for: person }: Pick<ActorSummary, 'name' | 'for'>): string =>
  person ? `${quoteName(name)} for ${quoteName(person.name)}` : quoteName(name)
