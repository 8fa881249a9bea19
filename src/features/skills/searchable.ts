import { sql } from 'drizzle-orm'
import { personal, type Source } from '../search/source.ts'
import { skills } from './table.ts'

export const skillSource: Source = {
  kind: 'skill',
  table: skills,
  title: skills.name,
  text: sql`concat_ws(e'\n\n', ${skills.description}, ${skills.content})`,
  tags: skills.tags,
  userId: personal(skills),
}
