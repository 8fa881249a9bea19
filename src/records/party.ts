import { id, nullable, object, oneOf, optional, type Static, text } from '../schema.ts'
import { named } from '../text/quoted.ts'

/** Fields that only agents have: the program that the agent runs in, and the person it acts for. */
export const behindAgent = {
  client: optional(text(100, { description: 'The program that the agent runs in', example: 'Claude Code' })),
  for: optional(object({ id: nullable(id()), name: text(100, { example: 'Ada Lovelace' }) })),
}

const name = text(100, { example: 'Ada Lovelace' })

/** A person or an agent, as assignee, holder or author. */
export const Party = object({ type: oneOf(['user', 'agent']), id: nullable(id()), name, ...behindAgent })
export type Party = Static<typeof Party>

/** Who did something. */
export const Doer = object({ type: oneOf(['user', 'agent', 'system']), id: nullable(id()), name, ...behindAgent })
export type Doer = Static<typeof Doer>

/** Returns the name as people read it: `Claude Code (laptop) for Ada`. */
export const inFull = ({ name, for: person }: Pick<Doer, 'name' | 'for'>): string =>
  person ? `${named(name)} for ${named(person.name)}` : named(name)
