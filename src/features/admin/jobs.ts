import { and, isNotNull, lt, notInArray, sql } from 'drizzle-orm'
import { contextOf, write } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import { machine } from '../../auth/policy.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import { RESTORE_DAYS } from '../../records/rows.ts'
import type { App } from '../../services.ts'
import { communityPosts } from '../community/table.ts'
import { contactMessages } from '../contact/table.ts'
import { oldSlugs, siteCategories, siteTexts } from '../site/table.ts'
import { sponsors } from '../sponsors/table.ts'

/** Permanently deletes records of the public site that were deleted 30 days ago, and old slugs of missing records. */
export const purgeSite = write('admin.purgeSite', machine, async (ctx, _: Record<string, never>): Promise<void> => {
  const before = new Date(Date.parse(ctx.now) - RESTORE_DAYS * 86_400_000).toISOString()
  for (const table of [siteTexts, sponsors, contactMessages, communityPosts])
    await ctx.db.delete(table).where(and(isNotNull(table.deletedAt), lt(table.deletedAt, before)))
  const there = sql`(select id from ${siteTexts} union all select id from ${siteCategories})`
  await ctx.db.delete(oldSlugs).where(notInArray(oldSlugs.recordId, there))
})

export const adminJobs: JobDefinition<App>[] = [
  {
    name: 'admin.purgeSite',
    every: '47 3 * * *',
    run: async (app) => {
      await purgeSite(contextOf(app, system), {})
    },
  },
]
