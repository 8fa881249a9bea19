import { sql } from 'drizzle-orm'
import type { Source } from '../search/source.ts'
import { sessions } from './table.ts'

/** Found by its worker alone. */
export const sessionSource: Source = {
  kind: 'session',
  table: sessions,
  title: sql`coalesce(${sessions.goals}[1], 'Work session')`,
  text: sql`concat_ws(e'\n\n', array_to_string(${sessions.goals}, e'\n'), ${sessions.context}, ${sessions.summary}, ${sessions.checkpoint} ->> 'nextStep')`,
  userId: sessions.userId,
}
