import { eq, type SQL, sql } from 'drizzle-orm'
import { read, write } from '../../action.ts'
import { admin } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { visibleText } from '../../text/text.ts'
import { oauthClientAdded, oauthClientRemoved } from './events.ts'
import { redirectProblem } from './redirects.ts'
import { endGrants } from './rows.ts'
import type { OauthClient, OauthClientAdd, OauthClientPage, OauthClientQuery } from './schema.ts'
import { oauthGrants, oauthClients as table } from './table.ts'

// Programs, for administrators of the server.

const used = sql`(select max(g.last_used_at) from ${oauthGrants} g where g.client_id = ${table}.id)`
const lastUsedAt: SQL<string | null> = used.mapWith(oauthGrants.lastUsedAt)

const visible = {
  id: table.id,
  kind: table.kind,
  name: table.name,
  redirectUris: table.redirectUris,
  createdAt: table.createdAt,
  grants: sql<number>`(select count(*)::int from ${oauthGrants} g
    where g.client_id = ${table}.id and g.revoked_at is null)`,
  lastUsedAt,
}

export const list = read(
  'grants.listClients',
  admin,
  async (ctx, query: OauthClientQuery): Promise<OauthClientPage> => {
    const page = keyset({ createdAt: table.createdAt }, table.id, query, { sort: 'createdAt', order: 'desc' })
    const rows = await ctx.db
      .select(visible)
      .from(table)
      .where(page.where())
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(table) : undefined)
  },
)

export const add = write(
  'grants.addClient',
  admin,
  async (ctx, { name, redirectUris }: OauthClientAdd): Promise<OauthClient> => {
    if (redirectUris.length === 0) throw invalid('/redirectUris', 'redirectUris needs at least one address.')
    for (const [i, uri] of redirectUris.entries()) {
      const problem = redirectProblem(uri)
      if (problem) throw invalid(`/redirectUris/${i}`, `This address ${problem}.`)
    }
    const shown = visibleText(name).trim()
    const made = { id: newId(), kind: 'added' as const, name: shown, redirectUris, createdAt: ctx.now }
    await ctx.db.insert(table).values(made)
    ctx.emit(oauthClientAdded, { subjectId: made.id, userId: ctx.actor.userId, data: { name: shown } })
    return { ...made, grants: 0, lastUsedAt: null }
  },
)

export const remove = write(
  'grants.removeClient',
  admin,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const [removed] = await ctx.db.delete(table).where(eq(table.id, id)).returning({ name: table.name })
    if (!removed) throw notFound('oauth_client', id)
    await endGrants(ctx, eq(oauthGrants.clientId, id), 'An administrator removed the program')
    // The id may be the address of a document, so no column for ids holds it.
    ctx.emit(oauthClientRemoved, { userId: ctx.actor.userId, data: { name: removed.name } })
    return { id, deleted: true }
  },
  { destructive: true, idempotent: true },
)
