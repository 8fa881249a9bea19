import { type Column, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import type { Actor } from '../../auth/actor.ts'
import { scopeHolds } from '../../auth/policy.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { agents } from '../agents/table.ts'
import { decisions } from '../decisions/table.ts'
import { memories } from '../memory/table.ts'
import { visibleTo as visibleNotes } from '../notes/service.ts'
import { notes } from '../notes/table.ts'
import { visibleTo as visibleShared } from '../organizations/sharing.ts'
import { visibleTo as visibleProjects } from '../projects/service.ts'
import { projects } from '../projects/table.ts'
import { repositories } from '../repositories/table.ts'
import { scopes } from '../search/reach.ts'
import { sessions } from '../sessions/table.ts'
import { skills } from '../skills/table.ts'
import { specs } from '../specs/table.ts'
import { epics, stories } from '../stories/table.ts'
import { tasks } from '../tasks/table.ts'
import { features } from '../workflow/table.ts'
import type { End, Linkable } from './schema.ts'

/** What a link may point at: where it is kept, who sees it, and what it is called. */
interface Kept {
  table: PgTable & { id: PgColumn; organizationId: PgColumn }
  visible: (rights: Rights) => SQL
  title: SQL | Column
  path: SQL
  projectId: Column | SQL
  /** Whose it is where no team owns it. */
  ownerId: Column
}

type OfProject = PgTable & Record<'id' | 'organizationId' | 'projectId' | 'deletedAt' | 'createdById', PgColumn>

/** Those of a project are seen through it, the others by the team. */
const ofProject = (table: OfProject, title: SQL | Column, path: SQL): Kept => ({
  table,
  title,
  path,
  projectId: table.projectId,
  ownerId: table.createdById,
  visible: (rights) =>
    and(
      isNull(table.deletedAt),
      or(
        and(isNull(table.projectId), anyOf(table.organizationId, rights.organizations)),
        sql`exists (select 1 from ${projects} where ${projects.id} = ${table.projectId} and ${visibleProjects(rights)})`,
      ),
    ),
})

const at = (folder: string, id: Column): SQL => sql`'/' || ${folder}::text || '/' || ${id}`
const keyOf = (projectId: Column) => sql`(select p.key from ${projects} p where p.id = ${projectId})`
const none = sql`null::uuid`

const kept: Record<Linkable, Kept> = {
  project: {
    table: projects,
    visible: visibleProjects,
    title: projects.name,
    path: at('projects', projects.id),
    projectId: projects.id,
    ownerId: projects.createdById,
  },
  epic: ofProject(epics, epics.title, sql`'/projects/' || ${epics.projectId} || '/epics/' || ${epics.id}`),
  story: ofProject(
    stories,
    stories.title,
    sql`'/projects/' || ${stories.projectId} || '/epics/' || ${stories.epicId} || '/stories/' || ${stories.id}`,
  ),
  task: ofProject(tasks, tasks.title, sql`'/tasks/' || ${keyOf(tasks.projectId)} || '-' || ${tasks.number}`),
  feature: ofProject(features, features.title, at('features', features.id)),
  note: { ...ofProject(notes, notes.title, at('notes', notes.id)), visible: visibleNotes },
  decision: ofProject(decisions, decisions.title, at('decisions', decisions.id)),
  spec: ofProject(specs, specs.title, at('specs', specs.id)),
  memory: ofProject(
    memories,
    sql`coalesce(${memories.title}, left(${memories.content}, 100))`,
    at('memories', memories.id),
  ),
  repository: ofProject(
    repositories,
    sql`left(${repositories.owner} || '/' || ${repositories.name}, 300)`,
    at('repos', repositories.id),
  ),
  session: {
    table: sessions,
    visible: (rights) => and(eq(sessions.userId, rights.user), anyOf(sessions.organizationId, rights.organizations)),
    title: sql`coalesce(left(${sessions.goals}[1], 300), 'Session of ' || to_char(${sessions.startedAt} at time zone 'UTC', 'YYYY-MM-DD'))`,
    path: at('sessions', sessions.id),
    projectId: sessions.projectId,
    ownerId: sessions.userId,
  },
  agent: {
    table: agents,
    visible: (rights) => visibleShared(agents, rights),
    title: agents.name,
    path: at('agents', agents.id),
    projectId: none,
    ownerId: agents.createdById,
  },
  skill: {
    table: skills,
    visible: (rights) => visibleShared(skills, rights),
    title: skills.name,
    path: at('skills', skills.id),
    projectId: none,
    ownerId: skills.createdById,
  },
}

export interface Found extends End {
  organizationId: string | null
  projectId: string | null
  ownerId: string | null
}

/** A link is no way around a credential's scopes: what it points at is named to those who may read such records. */
const mayRead = ({ scopes: held }: Actor, type: Linkable): boolean =>
  scopeHolds(held, type === 'repository' ? 'repos:read' : scopes[type])

/** Those of these records that the caller sees. */
export async function lookUp(ctx: Ctx, type: Linkable, ids: readonly string[]): Promise<Found[]> {
  if (!mayRead(ctx.actor, type)) return []
  const { table, visible, title, path, projectId, ownerId } = kept[type]
  const { rows } = await ctx.db.execute<Omit<Found, 'type'>>(sql`
    select ${table.id} as id, ${title} as title, ${path} as path, ${table.organizationId} as "organizationId", ${projectId} as "projectId", ${ownerId} as "ownerId"
    from ${table} where ${anyOf(table.id, idList(ids))} and ${visible(rightsOf(ctx.actor))}`)
  return rows.map((row) => ({ ...row, type }))
}

/** For the WHERE of a query over links: this end is one that the caller sees. */
export const isSeen = ({ actor }: Ctx, type: Column, id: Column): SQL =>
  or(
    sql`false`,
    ...Object.entries(kept)
      .filter(([name]) => mayRead(actor, name as Linkable))
      .map(
        ([name, { table, visible }]) =>
          sql`(${type} = ${name} and exists (select 1 from ${table} where ${table.id} = ${id} and ${visible(rightsOf(actor))}))`,
      ),
  )

/** This end is gone for good, whoever asks. */
export const isGone = (type: Column, id: Column): SQL =>
  sql`case ${type} ${sql.join(
    Object.entries(kept).map(
      ([name, { table }]) => sql`when ${name} then not exists (select 1 from ${table} where ${table.id} = ${id})`,
    ),
    sql` `,
  )} else false end`
