import { sql } from 'drizzle-orm'
import type { Source } from '../search/source.ts'
import { tasks } from './table.ts'

export const taskSource: Source = {
  kind: 'task',
  table: tasks,
  title: tasks.title,
  text: sql`concat_ws(e'\n\n', ${tasks.description},
    (select string_agg(criterion ->> 'text', e'\n') from jsonb_array_elements(${tasks.acceptance}) criterion), ${tasks.completionNotes})`,
  tags: tasks.labels,
}
