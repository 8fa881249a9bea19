import { sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import { check } from '../../check.ts'
import { invalid } from '../../errors.ts'
import type { TObject } from '../../schema.ts'
import { Agent } from '../agents/schema.ts'
import { Decision, Comment as Discussion } from '../decisions/schema.ts'
import { Memory } from '../memory/schema.ts'
import { mentionsOf } from '../notes/mentions.ts'
import { Note } from '../notes/schema.ts'
import { Project } from '../projects/schema.ts'
import { placeholdersIn } from '../skills/placeholders.ts'
import { Skill } from '../skills/schema.ts'
import { Spec } from '../specs/schema.ts'
import { Epic, Story } from '../stories/schema.ts'
import { Comment, Task } from '../tasks/schema.ts'
import { Feature } from '../workflow/schema.ts'

type Fields = Record<string, unknown>

/** What the web API returns of each kind: a record that it could not have returned is not imported. */
const schemas: Readonly<Record<string, TObject>> = {
  project: Project,
  agent: Agent,
  skill: Skill,
  epic: Epic,
  story: Story,
  task: Task,
  comment: Comment,
  feature: Feature,
  spec: Spec,
  decision: Decision,
  discussion: Discussion,
  note: Note,
  memory: Memory,
}

/** Throws `invalid` for a record with a field that its kind does not have, or with a value that it cannot have. */
export function checkRecord(entity: string, record: Fields, columns: Readonly<Record<string, PgColumn>>): void {
  const unknown = Object.keys(record).find((name) => !Object.hasOwn(columns, name))
  if (unknown !== undefined) throw invalid('/records', `A ${entity} has no field ${JSON.stringify(unknown)}.`)
  const missing = Object.keys(columns).find((name) => record[name] === undefined)
  if (missing !== undefined) throw invalid('/records', `A ${entity} lacks its field ${missing}.`)
  for (const [name, schema] of Object.entries(schemas[entity]?.properties ?? {})) {
    const [error] = name in record ? check(schema, record[name]) : []
    if (error) throw invalid('/records', `${name} of the ${entity} ${record.id}: ${error.message}`)
  }
}

/** Returns columns that are computed from others. */
export function computed(entity: string, { content }: Fields): Fields {
  if (entity === 'note') return { mentions: mentionsOf(String(content)) }
  return entity === 'skill' ? { placeholders: placeholdersIn(String(content)) } : {}
}

/** What a record belongs to, which must be in the team already: the table, and the field that names it. */
const owners: Readonly<Record<string, readonly [table: string, field: string]>> = {
  comment: ['tasks', 'taskId'],
  dependency: ['tasks', 'taskId'],
  version: ['specs', 'specId'],
  discussion: ['decisions', 'decisionId'],
}

/** Returns the project of what the record belongs to. Throws unless the team has it. */
export async function ownerOf(ctx: Ctx, organizationId: string, entity: string, row: Fields): Promise<string | null> {
  const [table, field] = owners[entity] ?? ['projects', 'projectId']
  const id = row[field]
  if (typeof id !== 'string' || entity === 'project') {
    personalOf(ctx, entity, row)
    return null
  }
  const project = sql.identifier(table === 'projects' ? 'id' : 'project_id')
  const { rows: found } = await ctx.db.execute<{ project: string | null }>(sql`
    select ${project} as project from ${sql.identifier(table)}
    where id = ${id}::uuid and organization_id = ${organizationId}::uuid`)
  if (found.length === 0) throw invalid('/records', `${field} ${id} of a ${entity} is not in this team.`)
  return found[0]?.project ?? null
}

/** A record without a team belongs to its author, so only they can import it. */
function personalOf({ actor }: Ctx, entity: string, { organizationId, createdById }: Fields): void {
  if (organizationId === null && createdById !== actor.userId)
    throw invalid('/records', `A personal ${entity} can only be imported by the person whose it is.`)
}
