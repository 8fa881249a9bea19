import { type SQL, sql } from 'drizzle-orm'
import { rightsOf } from '../../auth/rights.ts'
import { mayRead } from '../../records/readable.ts'
import { projects } from '../projects/table.ts'
import { markMatches, withoutPunctuation } from '../search/highlight.ts'
import { type RelatedTitle, relatedTitles } from '../search/hooks.ts'
import { searchQuery } from '../search/query.ts'
import { tasks } from '../tasks/table.ts'
import { features } from '../workflow/table.ts'
import { visibleTo } from './rows.ts'
import { pullRequests, repositories } from './table.ts'

/** How many pull requests are compared, and how many matches are used. */
const [COMPARED, MATCHES] = [2000, 50]

/** The title and branch of a pull request, in which keys of tasks are found. */
const texts = sql`upper(concat_ws(' ', title, head))`

/** SQL condition: the pull request was opened for a feature, or its title or branch contains a key; of this project. */
const namesRecord = (projectId: string | undefined): SQL =>
  projectId === undefined
    ? sql`(feature_id is not null or ${texts} ~ '\\y[A-Z]{2,6}-[1-9][0-9]{0,6}\\y')`
    : sql`(feature_id in (select ${features.id} from ${features} where ${features.projectId} = ${projectId}::uuid)
        or ${texts} ~ (select '\\y' || ${projects.key} || '-[1-9][0-9]{0,6}\\y' from ${projects}
          where ${projects.id} = ${projectId}::uuid))`

/**
 * Finds records by the titles of pull requests: the feature that one was opened for, and the tasks whose keys are in
 * its title or branch. The newest pull requests count first.
 */
export const findByPullRequest = relatedTitles.handle(async (ctx, query): Promise<RelatedTitle[]> => {
  const { words, kinds, projectId } = query
  if (!kinds.some((kind) => kind === 'task' || kind === 'feature') || !mayRead(ctx, 'repository')) return []
  const visible = visibleTo(rightsOf(ctx.actor))
  const { rows } = await ctx.db.execute<{ kind: 'task' | 'feature'; id: string; title: string; marked: string }>(sql`
    with asked as materialized (select ${searchQuery(words, 'english')} as words),
    pulls as materialized (
      (select ${repositories.organizationId}, ${pullRequests.title} as title, ${pullRequests.head} as head,
        ${pullRequests.featureId} as feature_id, ${pullRequests.createdAt} as at from ${pullRequests}
        join ${repositories} on ${repositories.id} = ${pullRequests.repositoryId}
        where ${visible} order by ${pullRequests.createdAt} desc limit ${COMPARED})
      union all
      (select ${repositories.organizationId}, pull ->> 'title', pull ->> 'head', null, ${repositories.updatedAt}
        from ${repositories}, jsonb_array_elements(${repositories.pulls}) pull where ${visible}
        order by ${repositories.updatedAt} desc limit ${COMPARED})),
    matching as materialized (
      select pulls.*, words from pulls, asked
      where to_tsvector('english', ${withoutPunctuation(sql`title`)}) @@ words and ${namesRecord(projectId)}
      order by at desc limit ${MATCHES}),
    found as materialized (
      select matching.*, ${markMatches(sql`title`, sql`words`, 'english')} as marked from matching)
    select 'feature' as kind, feature_id as id, title, marked from found where feature_id is not null
    union all
    select 'task', ${tasks.id}, found.title, marked from found
      cross join regexp_matches(${texts}, '\\y([A-Z]{2,6})-([1-9][0-9]{0,6})\\y', 'g') named
      join ${projects} on ${projects.organizationId} = found.organization_id and ${projects.key} = named[1]
      join ${tasks} on ${tasks.projectId} = ${projects.id} and ${tasks.number} = named[2]::int`)
  return rows.map(({ id, ...row }) => ({ ...row, recordId: id, of: 'Pull request' }))
})
