import { sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import { check } from '../../check.ts'
import { idList, newId } from '../../db/columns.ts'
import { invalid } from '../../errors.ts'
import type { MemoryScope } from '../../records/names.ts'
import { findSeenRecords } from '../links/ends.ts'
import { mentionsOf } from '../notes/mentions.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import { placeholdersIn } from '../skills/placeholders.ts'
import { aliasOf } from './aliases.ts'
import { entityNamed, memoryReferences, nullableReference, type Reference, requiredReference } from './entities.ts'
import { parentField } from './parts.ts'

type Fields = Record<string, unknown>

/** Fields that exports of earlier versions lack. */
const newFields = new Set(['task completedByType', 'comment version', 'project color'])

/** Throws `invalid` for a record with an unknown field or an invalid value. */
export function checkRecord(entity: string, record: Fields, columns: Readonly<Record<string, PgColumn>>): void {
  const unknown = Object.keys(record).find((name) => !Object.hasOwn(columns, name))
  if (unknown !== undefined) throw invalid('/records', `A ${entity} has no field ${JSON.stringify(unknown)}.`)
  const isMissing = (name: string) => record[name] === undefined && !newFields.has(`${entity} ${name}`)
  const missing = Object.keys(columns).find(isMissing)
  if (missing !== undefined) throw invalid('/records', `A ${entity} lacks its field ${missing}.`)
  for (const [name, schema] of Object.entries(entityNamed(entity).schema?.properties ?? {})) {
    const [error] = name in record ? check(schema, record[name]) : []
    if (error) throw invalid('/records', `${name} of the ${entity} ${record.id}: ${error.message}`)
  }
}

/** Returns columns that are computed from others, or that have a meaning on one server only. */
export function computedColumns(entity: string, { content, url, status }: Fields): Fields {
  if (entity === 'note') return { mentions: mentionsOf(String(content)) }
  if (entity === 'skill') return { placeholders: placeholdersIn(String(content)) }
  if (entity === 'dependency') return { id: newId() }
  if (entity === 'repository') return { key: String(url).toLowerCase() }
  if (entity !== 'session') return {}
  // No one works in an imported session, and all earlier events count as seen.
  const seenSeq = sql`coalesce((select max(seq) from events), 0)`
  return { seenSeq, ...(status === 'active' && { status: 'paused' }) }
}

function referencesOf(entity: string, { scope }: Fields): readonly Reference[] {
  const about = entity === 'memory' ? memoryReferences[scope as MemoryScope] : undefined
  const project =
    entity === 'session' ? nullableReference('projectId', 'projects') : requiredReference('projectId', 'projects')
  return [project, ...(entityNamed(entity).references ?? []), ...(about ? [about] : [])]
}

/**
 * Returns the project of the record's owner, if the record has none of its own. Throws unless all its references are in
 * the team, so that no one can write into another team or learn about its records.
 */
export async function ownerOf(ctx: Ctx, organizationId: string, entity: string, row: Fields): Promise<string | null> {
  personalOf(ctx, entity, row)
  let project: string | null = null
  for (const one of referencesOf(entity, row)) {
    const ids = [row[one.field]].flat().filter((id) => typeof id === 'string')
    if (ids.length === 0) continue
    const found = await placesOf(ctx, one, ids)
    const isHere = ({ team, project }: Place) =>
      team === organizationId && (!one.inProject || project === row.projectId)
    const strange = found.filter((place) => !isHere(place)).map(({ id }) => id)
    if (one.orNull) {
      if (strange.length > 0 || found.length === 0) row[one.field] = null
      continue
    }
    if (one.isNeeded && (strange.length > 0 || found.length < new Set(ids).size))
      throw invalid('/records', `${one.field} ${ids.join(', ')} of a ${entity} is not in this team.`)
    if (strange.length > 0) await renameStrange(ctx, organizationId, one, row, strange)
    if (!('projectId' in row)) project ??= found[0]?.project ?? null
  }
  return project
}

/**
 * Replaces ids that belong to records of others by the ids that the intended records will get. Unknown ids stay, so the
 * caller cannot tell whether an id exists elsewhere.
 */
async function renameStrange(
  ctx: Ctx,
  organizationId: string,
  { field, kind }: Reference,
  row: Fields,
  strange: readonly string[],
): Promise<void> {
  const seen = new Set(kind ? (await findSeenRecords(ctx, kind, [...strange])).map(({ id }) => id) : [])
  const here = (id: unknown) =>
    typeof id === 'string' && strange.includes(id) && !seen.has(id) ? aliasOf(organizationId, id) : id
  const value = row[field]
  row[field] = Array.isArray(value) ? value.map(here) : here(value)
}

interface Place extends Fields {
  id: string
  team: string | null
  project: string | null
}

async function placesOf(ctx: Ctx, { table }: Reference, ids: readonly string[]): Promise<Place[]> {
  const project = { projects: sql`id`, agents: sql`null::uuid` }[table] ?? sql`project_id`
  const { rows } = await ctx.db.execute<Place>(sql`
    select id, organization_id as team, ${project} as project from ${sql.identifier(table)}
    where id = any(${idList(ids)}::uuid[])`)
  return rows
}

/** Whether only one person sees a record of the team: a session, or a view that is not shared. */
export const isPersonalEntity = (entity: string, { shared }: Fields): boolean =>
  entity === 'session' || (entity === 'view' && shared === false)

/** Only the person who sees a personal record can import it: one without a team, or one that is private in a team. */
function personalOf({ actor }: Ctx, entity: string, row: Fields): void {
  const owner = entity === 'session' ? row.userId : row.createdById
  if ((row.organizationId === null || isPersonalEntity(entity, row)) && owner !== actor.userId)
    throw invalid('/records', `Only its owner can import a personal ${entity}.`)
}

/** Whether the stored record with this id belongs to this team or the caller, so that the caller may know about it. */
export async function isKnownToCaller(
  ctx: Ctx,
  organizationId: string,
  entity: string,
  row: Fields,
  there: Fields,
): Promise<boolean> {
  if (entity === 'link') return there.fromId === row.fromId && there.toId === row.toId
  if ('organizationId' in there) {
    const owner = entity === 'session' ? there.userId : there.createdById
    if (there.organizationId === null || isPersonalEntity(entity, there)) return owner === ctx.actor.userId
    return there.organizationId === organizationId
  }
  const parent = parentField(entity)
  if (there[parent] === row[parent]) return true
  const [belongsTo] = entityNamed(entity).references ?? []
  if (!belongsTo) return false
  const [place] = await placesOf(ctx, belongsTo, [String(there[parent])])
  return place?.team === organizationId
}

/** Requires that the plan of the team has room for a new project or agent. */
export async function requireRoomInPlan(ctx: Ctx, entity: string, { organizationId, status }: Fields): Promise<void> {
  if (typeof organizationId !== 'string') return
  if (entity === 'project') await requirePlanRoom(ctx, organizationId, 'projects')
  if (entity === 'agent' && status === 'active') await requirePlanRoom(ctx, organizationId, 'agents')
}
