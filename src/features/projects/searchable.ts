import { sql } from 'drizzle-orm'
import type { Source } from '../search/source.ts'
import { projects } from './table.ts'

export const projectSource: Source = {
  kind: 'project',
  table: projects,
  title: projects.name,
  text: sql`concat_ws(e'\n', ${projects.key}, ${projects.slug}, ${projects.description})`,
  projectId: projects.id,
}
