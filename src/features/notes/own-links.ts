import { sql } from 'drizzle-orm'
import { prepare } from '../../db/session.ts'
import { type LinkedRow, ownLinks } from '../links/linked.ts'
import { notes } from './table.ts'

const value = (name: string) => sql.placeholder(name)
const naming = prepare((db) =>
  db
    .select({
      type: sql<'note'>`'note'`,
      id: sql<string>`n.id`,
      kind: sql<LinkedRow['kind']>`coalesce(l->>'kind', 'relates')`,
      direction: sql<'from'>`'from'`,
      at: sql<number>`extract(epoch from n.updated_at)::float8`.mapWith(Number),
    })
    .from(sql`${notes} n, jsonb_array_elements(n.links) l`)
    .where(sql`n.links <> '[]' and n.links @> ${value('link')}::text::jsonb and l->>'id' = ${value('id')}::text
      and n.deleted_at is null and (n.organization_id = ${value('organizationId')} or n.created_by_id = ${value('userId')})`)
    .orderBy(sql`n.updated_at desc, n.id`)
    .limit(sql.placeholder('most')),
)

/** The notes that name a record among their own links. */
export const linksOfNotes = ownLinks.handle((ctx, { id, organizationId, most }) =>
  naming(ctx.db, { id, organizationId, most, link: JSON.stringify([{ id }]), userId: ctx.actor.userId }),
)
