import { nullable, object, type Static, text } from '../schema.ts'

/** Who sees a skill, an agent or a note: its author alone, the team, or everyone. */
export const scopes = ['personal', 'team', 'public'] as const
export type Scope = (typeof scopes)[number]

/** Who wrote something public; null where that account is gone. */
export const Author = nullable(
  object({ handle: text(63, { example: 'ada' }), name: text(100, { example: 'Ada Lovelace' }) }),
)
export type Author = Static<typeof Author>
