import { type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { account, scopeHolds } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { recordPath } from '../../records/kind.ts'
import { mayRead } from '../../records/readable.ts'
import * as preferences from '../accounts/preferences.ts'
import { visibleTo } from '../views/service.ts'
import { views } from '../views/table.ts'
import type { Favourite, Favourites } from './schema.ts'

interface Row extends Record<string, unknown> {
  id: string
  kind: Favourite['kind']
  title: string
  key: string | null
  status: string | null
  path: string
  organizationId: string | null
}

/** SQL: the favourites of every kind, each with the columns of a `Row`. */
function favouriteRows(ctx: Ctx, ids: readonly string[]): SQL[] {
  const rights = rightsOf(ctx.actor)
  const records = ctx.app.records.all
    .filter(({ kind }) => mayRead(ctx, kind))
    .map((record) => {
      const { kind, table, title, key, status, visible } = record
      return sql`select ${table.id} as id, ${kind}::text as kind, (${title})::text as title,
        (${key ?? null})::text as key, (${status ?? null})::text as status, ${recordPath(record)} as path,
        ${table.organizationId} as "organizationId"
        from ${table} where ${anyOf(table.id, idList(ids))} and ${visible(rights)}`
    })
  if (!scopeHolds(ctx.actor.scopes, 'views:read')) return records
  const page = sql`case when ${views.page} in ('tasks', 'features') and ${views.projectId} is not null
    then '/projects/' || ${views.projectId} || '/' || ${views.page} else '/' || ${views.page} end`
  return [
    ...records,
    sql`select ${views.id} as id, 'view' as kind, ${views.name} as title, null as key, null as status,
      ${page} || '?' || ${views.query} as path, ${views.organizationId} as "organizationId"
      from ${views} where ${anyOf(views.id, idList(ids))} and ${visibleTo(rights)}`,
  ]
}

/** Finds those of these records that the caller sees, in the given order. Deleted and invisible ones are left out. */
async function findFavourites(ctx: Ctx, ids: readonly string[]): Promise<Favourite[]> {
  if (ids.length === 0) return []
  const { rows } = await ctx.db.execute<Row>(sql.join(favouriteRows(ctx, ids), sql` union all `))
  const found = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => found.get(id) ?? [])
}

/** Lists the favourites of the caller that exist and that they may see. */
export const listFavourites = read(
  'home.favourites',
  account('account:read'),
  async (ctx, _: Record<string, never>): Promise<Favourites> => {
    const { favourites } = await preferences.getPreferences(ctx, {})
    return { items: await findFavourites(ctx, favourites) }
  },
)
