import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { personalOwner, type RecordKind } from '../../records/kind.ts'
import { skillDeleted } from './events.ts'
import * as service from './service.ts'
import { skillSync } from './sync.ts'
import { skills } from './table.ts'

export const skillRecord: RecordKind<Ctx> = {
  kind: 'skill',
  table: skills,
  title: skills.name,
  scope: 'skills:read',
  visible: service.visibleTo,
  deleted: skillDeleted,
  key: skills.slug,
  ownerId: skills.createdById,
  search: {
    text: sql`concat_ws(e'\n\n', ${skills.description}, ${skills.content})`,
    tags: skills.tags,
    userId: personalOwner(skills),
  },
  resource: {
    title: 'Skill',
    references: 'Slug or id',
    tool: 'get_skill',
    read: (ctx, ref) => service.get(ctx, { ref }),
    list: (ctx, limit) => service.listInTeam(ctx, { limit }),
  },
  sync: skillSync,
}
