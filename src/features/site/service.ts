import { and, eq, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { anyone } from '../../auth/policy.ts'
import { contains, toIso } from '../../db/columns.ts'
import { excerptAround, splitMatches } from '../../text/highlight.ts'
import { matchFinder, wordsOf } from '../../text/search-query.ts'
import { agents } from '../agents/table.ts'
import * as manual from '../manual/service.ts'
import { isPublished } from '../notes/rows.ts'
import { notes } from '../notes/table.ts'
import { isPublic } from '../organizations/sharing.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { isPublic as isPublicProject } from '../projects/visible.ts'
import { searchQuery } from '../search/query.ts'
import { settingsOf } from '../settings/values.ts'
import { skills } from '../skills/table.ts'
import { users } from '../users/table.ts'
import { extraMatches, selectMatches } from './matching.ts'
import { type PublicFindQuery, type PublicFound, type PublicFoundList, publicKinds } from './schema.ts'
import { siteTexts, type TextKind } from './table.ts'
import { isLive } from './texts.ts'

type PublicKind = PublicFound['kind']

interface Row extends Record<string, unknown> {
  kind: PublicKind
  title: string
  /** Shown before the text: a description, or a role. */
  intro: string | null
  text: string
  path: string
  handle: string | null
  name: string | null
  at: string | null
}

/** Characters that are searched for matches to highlight: in all results together, and in one. */
const LOOKED_AT = 200_000
const LONGEST = 20_000
/** Words of a query that are compared with names of people. */
const MOST_NAMES = 5

/**
 * These conditions contain literals, so that Postgres can use the partial indexes. Records of a sandbox or a deleted
 * team are not public.
 */
const openTeam = (organizationId: SQLWrapper): SQL =>
  sql`join ${organizations} on ${organizations.id} = ${organizationId}
    and ${organizations.deletedAt} is null and ${organizations.sandboxOf} is null`
const author = (createdById: SQLWrapper): SQL => sql`left join ${users} on ${users.id} = ${createdById}`

/** A public note of a public project is a document of the project and has a path below it. */
const noteMatches = (kinds: ReadonlySet<PublicKind>, limit: number): SQL => {
  const inProject = sql`${projects.id} is not null`
  const which =
    kinds.has('doc') && kinds.has('note') ? sql`true` : kinds.has('doc') ? inProject : sql`not (${inProject})`
  return selectMatches(
    sql`case when ${inProject} then 'doc' else 'note' end`,
    {
      title: notes.title,
      text: notes.content,
      path: sql`case when ${inProject}
        then concat('/api/public/docs/', ${organizations.slug}, '/', ${projects.slug}, '/', ${notes.slug})
        else concat('/api/notes/public/', ${notes.slug}) end`,
      at: notes.updatedAt,
      search: notes.search,
    },
    sql`${notes} ${openTeam(notes.organizationId)}
      left join ${projects} on ${projects.id} = ${notes.projectId} and ${isPublicProject}
      ${author(notes.createdById)} where ${isPublished} and ${which}`,
    limit,
  )
}

const projectMatches = (limit: number): SQL =>
  selectMatches(
    sql`'project'`,
    {
      title: projects.name,
      text: sql`coalesce(${projects.description}, '')`,
      path: sql`concat('/api/public/projects/', ${users.handle}, '/', ${projects.slug})`,
      at: projects.updatedAt,
      search: projects.search,
    },
    // A project whose author deleted their account has no public address.
    sql`${projects} ${openTeam(projects.organizationId)} ${author(projects.createdById)}
      where ${isPublicProject} and ${users.id} is not null`,
    limit,
  )

const skillMatches = (limit: number): SQL =>
  selectMatches(
    sql`'skill'`,
    {
      title: skills.name,
      intro: skills.description,
      text: skills.content,
      path: sql`concat('/api/skills/public/', ${skills.slug})`,
      at: skills.updatedAt,
      search: skills.search,
    },
    sql`${skills} ${author(skills.createdById)} where ${isPublic(skills)}`,
    limit,
  )

const agentMatches = (limit: number): SQL =>
  selectMatches(
    sql`'agent'`,
    {
      title: agents.name,
      intro: agents.role,
      text: sql`coalesce(${agents.persona}, '')`,
      path: sql`concat('/api/agents/public/', ${agents.slug})`,
      at: agents.updatedAt,
      search: agents.search,
    },
    sql`${agents} ${author(agents.createdById)} where ${isPublic(agents)} and ${agents.status} = 'active'`,
    limit,
  )

/** Pages and posts of the site, which have no author. */
const textMatches = (kind: TextKind, now: string, limit: number): SQL =>
  selectMatches(
    sql`${kind}::text`,
    {
      title: siteTexts.title,
      intro: sql`coalesce(${siteTexts.excerpt}, ${siteTexts.description})`,
      text: siteTexts.content,
      path: sql`concat(${`/api/public/${kind}s/`}::text, ${siteTexts.slug})`,
      at: siteTexts.updatedAt,
      search: siteTexts.search,
    },
    sql`${siteTexts} left join ${users} on false where ${isLive(kind, now)}`,
    limit,
  )

/** Finds only users who have published something: other profiles are private. */
const peopleMatches = (q: string, limit: number): SQL => {
  const named = and(
    ...[...new Set(wordsOf(q))]
      .slice(0, MOST_NAMES)
      .map((word) => or(contains(users.name, word), contains(users.handle, word))),
  )
  const has = (rest: SQL) => sql`exists (select 1 from ${rest})`
  const shown = or(
    has(sql`${notes} ${openTeam(notes.organizationId)} where ${notes.createdById} = ${users.id} and ${isPublished}`),
    has(
      sql`${projects} ${openTeam(projects.organizationId)}
        where ${projects.createdById} = ${users.id} and ${isPublicProject}`,
    ),
    has(sql`${skills} where ${skills.createdById} = ${users.id} and ${isPublic(skills)}`),
    has(
      sql`${agents} where ${agents.createdById} = ${users.id} and ${isPublic(agents)} and ${agents.status} = 'active'`,
    ),
  )
  return sql`(
    select 'profile' as kind, ${users.name} as title, null as intro, '' as text, concat('/u/', ${users.handle}) as path,
      ${users.handle} as handle, ${users.name} as name,
      null::timestamptz as at, case when lower(${users.handle}) = ${q.trim().toLowerCase()} then 1 else 0.1 end as rank
    from ${users} where ${eq(users.status, 'active')} and ${named} and (${shown})
    order by rank desc, ${users.handle} limit ${limit})`
}

/** Finds public records. The result does not depend on the caller. */
export const findPublic = read(
  'site.findPublic',
  anyone,
  async (ctx, { q = '', kinds, limit = 20 }: PublicFindQuery): Promise<PublicFoundList> => {
    if (wordsOf(q).length === 0) return { items: [], nextCursor: null }
    const wanted = new Set((kinds?.split(',') ?? publicKinds) as PublicKind[])
    const { blog } = await settingsOf(ctx)
    const branches = [
      (wanted.has('doc') || wanted.has('note')) && noteMatches(wanted, limit),
      wanted.has('project') && projectMatches(limit),
      wanted.has('skill') && skillMatches(limit),
      wanted.has('agent') && agentMatches(limit),
      wanted.has('profile') && peopleMatches(q, limit),
      wanted.has('page') && textMatches('page', ctx.now, limit),
      wanted.has('post') && blog.enabled && textMatches('post', ctx.now, limit),
      ...(await extraMatches.call(ctx, { limit })).map((more) => more && wanted.has(more.kind) && more.matches),
    ].filter((branch) => branch !== false && branch !== undefined)
    const inManual = wanted.has('manual') ? await findInManual(ctx, q, wanted.size === 1 ? limit : limit / 4) : []
    const records = branches.length > 0 ? await findInBranches(ctx, q, branches, limit - inManual.length) : []
    return { items: [...records, ...inManual], nextCursor: null }
  },
)

/** Finds sections of the manual. Records come first; sections take only a part of the list. */
async function findInManual(ctx: Ctx, q: string, most: number): Promise<PublicFound[]> {
  const words = wordsOf(q.replace(/(^|\s)-\S+/g, ' ')).join(' ')
  const { items } = await manual.search(ctx, { q: words })
  const find = matchFinder(q)
  return items.slice(0, most).map(({ id, title: page, heading, anchor, excerpt }) => {
    const title = heading ? `${page} › ${heading}` : page
    return {
      kind: 'manual',
      title,
      path: `/manual/${id}${anchor ? `#${anchor}` : ''}`,
      author: null,
      updatedAt: null,
      highlight: {
        title: splitMatches(title, find(title)),
        text: excerptAround(excerpt, find(excerpt), { more: false }),
      },
    }
  })
}

async function findInBranches(ctx: Ctx, q: string, branches: SQL[], limit: number): Promise<PublicFound[]> {
  const most = Math.min(LONGEST, Math.floor(LOOKED_AT / limit))
  const { rows } = await ctx.db.execute<Row>(sql`
    with asked as materialized (select ${searchQuery(q, 'simple')} as words),
    best as materialized (select * from (${sql.join(branches, sql` union all `)}) found
      order by rank desc, at desc nulls last, path limit ${limit})
    select kind, title, intro, left(text, ${most + 1}) as text, path, handle, name, at
    from best order by rank desc, at desc nulls last, path`)
  const find = matchFinder(q)
  return rows.map((row) => {
    const whole = [row.intro, row.text].filter(Boolean).join('\n\n')
    const text = whole.slice(0, most)
    return {
      kind: row.kind,
      title: row.title,
      path: row.path,
      author: row.handle && row.name ? { handle: row.handle, name: row.name } : null,
      updatedAt: row.at === null ? null : toIso(row.at),
      highlight: {
        title: splitMatches(row.title, find(row.title)),
        text: excerptAround(text, find(text), { more: text.length < whole.length }),
      },
    }
  })
}
