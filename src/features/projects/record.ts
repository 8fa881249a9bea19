import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import type { RecordKind } from '../../records/kind.ts'
import { projectDeleted } from './events.ts'
import { visibleTo } from './rows.ts'
import * as service from './service.ts'
import { projectSync } from './sync.ts'
import { projects } from './table.ts'

export const projectRecord: RecordKind<Ctx> = {
  kind: 'project',
  table: projects,
  title: projects.name,
  scope: 'projects:read',
  visible: visibleTo,
  deleted: projectDeleted,
  key: projects.key,
  projectId: projects.id,
  inBriefs: true,
  search: { text: sql`concat_ws(e'\n', ${projects.key}, ${projects.slug}, ${projects.description})` },
  resource: {
    title: 'Project',
    references: 'Slug, key or id',
    tool: 'get_project',
    read: (ctx, ref) => service.get(ctx, { ref }),
    list: (ctx, limit) => service.list(ctx, { status: 'active', limit }),
  },
  sync: projectSync,
}
