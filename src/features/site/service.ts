import { and, eq, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { anyone } from '../../auth/policy.ts'
import { contains, toIso } from '../../db/columns.ts'
import { agents } from '../agents/table.ts'
import { notes } from '../notes/table.ts'
import { isPublic } from '../organizations/sharing.ts'
import { organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { excerpt, marked, parts } from '../search/highlight.ts'
import { asked, wordsOf } from '../search/query.ts'
import { skills } from '../skills/table.ts'
import { users } from '../users/table.ts'
import type { PublicFindQuery, PublicFound, PublicFoundList } from './schema.ts'

type PublicKind = PublicFound['kind']

interface Row extends Record<string, unknown> {
  kind: PublicKind
  title: string
  text: string
  path: string | null
  handle: string | null
  name: string | null
  at: string | null
  marked_title: string
  marked_text: string
}

/**
 * These conditions contain literals, so that Postgres can use the partial indexes. Records of a sandbox or a deleted
 * team are not public.
 */
const openTeam = (organizationId: SQLWrapper): SQL =>
  sql`join ${organizations} on ${organizations.id} = ${organizationId}
    and ${organizations.deletedAt} is null and ${organizations.sandboxOf} is null`
const openNote = sql`${notes.scope} = 'public' and ${notes.deletedAt} is null`
const openProject = sql`${projects.visibility} = 'public' and ${projects.deletedAt} is null`
const author = (createdById: SQLWrapper): SQL => sql`left join ${users} on ${users.id} = ${createdById}`

/** Selects the best matches of one kind. Each kind has its own limit, so that none is read completely. */
const from = (
  kind: SQL,
  what: { title: SQLWrapper; text: SQLWrapper; path: SQL; at: SQLWrapper; search: SQLWrapper },
  rest: SQL,
  limit: number,
) => sql`(
  select ${kind} as kind, ${what.title} as title, ${what.text} as text, ${what.path} as path,
    ${users.handle} as handle, ${users.name} as name, ${what.at} as at, ts_rank(${what.search}, asked.words) as rank
  from asked, ${rest} and ${what.search} @@ asked.words order by rank desc, ${what.at} desc limit ${limit})`

/** A public note of a public project is a document of the project and has a path below it. */
const ofNotes = (kinds: ReadonlySet<PublicKind>, limit: number): SQL => {
  const inProject = sql`${projects.id} is not null`
  const which =
    kinds.has('doc') && kinds.has('note') ? sql`true` : kinds.has('doc') ? inProject : sql`not (${inProject})`
  return from(
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
      left join ${projects} on ${projects.id} = ${notes.projectId} and ${openProject}
      ${author(notes.createdById)} where ${openNote} and ${which}`,
    limit,
  )
}

const ofProjects = (limit: number): SQL =>
  from(
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
      where ${openProject} and ${users.id} is not null`,
    limit,
  )

const ofSkills = (limit: number): SQL =>
  from(
    sql`'skill'`,
    {
      title: skills.name,
      text: sql`concat_ws(e'\n\n', ${skills.description}, ${skills.content})`,
      path: sql`concat('/api/skills/public/', ${skills.slug})`,
      at: skills.updatedAt,
      search: skills.search,
    },
    sql`${skills} ${author(skills.createdById)} where ${isPublic(skills)}`,
    limit,
  )

const ofAgents = (limit: number): SQL =>
  from(
    sql`'agent'`,
    {
      title: agents.name,
      text: sql`concat_ws(e'\n\n', ${agents.role}, ${agents.persona})`,
      path: sql`concat('/api/agents/public/', ${agents.slug})`,
      at: agents.updatedAt,
      search: agents.search,
    },
    sql`${agents} ${author(agents.createdById)} where ${isPublic(agents)} and ${agents.status} = 'active'`,
    limit,
  )

/** Finds only users who have published something: other profiles are private. */
const ofPeople = (q: string, limit: number): SQL => {
  const named = and(...wordsOf(q).map((word) => or(contains(users.name, word), contains(users.handle, word))))
  const has = (rest: SQL) => sql`exists (select 1 from ${rest})`
  const shown = or(
    has(sql`${notes} ${openTeam(notes.organizationId)} where ${notes.createdById} = ${users.id} and ${openNote}`),
    has(
      sql`${projects} ${openTeam(projects.organizationId)}
        where ${projects.createdById} = ${users.id} and ${openProject}`,
    ),
    has(sql`${skills} where ${skills.createdById} = ${users.id} and ${isPublic(skills)}`),
    has(
      sql`${agents} where ${agents.createdById} = ${users.id} and ${isPublic(agents)} and ${agents.status} = 'active'`,
    ),
  )
  return sql`(
    select 'profile' as kind, ${users.name} as title, '' as text, null as path,
      ${users.handle} as handle, ${users.name} as name,
      null::timestamptz as at, case when lower(${users.handle}) = ${q.trim().toLowerCase()} then 1 else 0.1 end as rank
    from ${users} where ${eq(users.status, 'active')} and ${named} and (${shown})
    order by rank desc, ${users.handle} limit ${limit})`
}

/** Finds what anybody may read. The result does not depend on the caller. */
export const findPublic = read(
  'site.findPublic',
  anyone,
  async (ctx, { q = '', kinds, limit = 20 }: PublicFindQuery): Promise<PublicFoundList> => {
    if (wordsOf(q).length === 0) return { items: [], nextCursor: null }
    const wanted = new Set(
      (kinds?.split(',') ?? ['doc', 'note', 'project', 'skill', 'agent', 'profile']) as PublicKind[],
    )
    const branches = [
      (wanted.has('doc') || wanted.has('note')) && ofNotes(wanted, limit),
      wanted.has('project') && ofProjects(limit),
      wanted.has('skill') && ofSkills(limit),
      wanted.has('agent') && ofAgents(limit),
      wanted.has('profile') && ofPeople(q, limit),
    ].filter((branch) => branch !== false)
    return { items: await found(ctx, q, branches, limit), nextCursor: null }
  },
)

async function found(ctx: Ctx, q: string, branches: SQL[], limit: number): Promise<PublicFound[]> {
  const { rows } = await ctx.db.execute<Row>(sql`
    with asked as materialized (select ${asked(q, 'simple')} as words),
    best as materialized (select * from (${sql.join(branches, sql` union all `)}) found
      order by rank desc, at desc nulls last, path limit ${limit})
    select best.*, ${marked(sql`best.title`, sql`asked.words`, 'simple')} as marked_title,
      ${marked(sql`best.text`, sql`asked.words`, 'simple')} as marked_text
    from best, asked order by rank desc, at desc nulls last, path`)
  return rows.map((row) => ({
    kind: row.kind,
    title: row.title,
    path: row.path,
    author: row.handle && row.name ? { handle: row.handle, name: row.name } : null,
    updatedAt: row.at === null ? null : toIso(row.at),
    highlight: { title: parts(row.title, row.marked_title), text: excerpt(row.text, row.marked_text) },
  }))
}
