import { sql } from 'drizzle-orm'
import { personal, type Source } from '../search/source.ts'
import { agents } from './table.ts'

export const agentSource: Source = {
  kind: 'agent',
  table: agents,
  title: agents.name,
  text: sql`concat_ws(e'\n\n', ${agents.role}, ${agents.persona})`,
  userId: personal(agents),
}
