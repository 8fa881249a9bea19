import { eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { and } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import { defaultProject } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import { projects as projectTable } from '../projects/table.ts'
import type { Spec } from './schema.ts'
import { specs } from './table.ts'

/** Columns of list items. */
export const specItemColumns = {
  id: specs.id,
  createdAt: specs.createdAt,
  updatedAt: specs.updatedAt,
  version: specs.version,
  organizationId: specs.organizationId,
  projectId: specs.projectId,
  createdById: specs.createdById,
  title: specs.title,
  slug: specs.slug,
  status: specs.status,
}
export const specColumns = { ...specItemColumns, content: specs.content }

export const isLiveSpec = isNull(specs.deletedAt)
/** A spec is visible to everyone who sees its project. The query must join the table of projects. */
export const visibleTo = (rights: Rights): SQL => and(isLiveSpec, projects.visibleTo(rights))
export const specsWithProject = sql`${specs} join ${projectTable} on ${projectTable.id} = ${specs.projectId}`

/** Finds a spec by id, slug or the unique beginning of its id. `within`: looks for slugs in this project. */
export async function findSpec(ctx: Ctx, ref: string, within?: { id: string }): Promise<Spec> {
  const rights = rightsOf(ctx.actor)
  const select = (match: SQL | undefined) =>
    ctx.db
      .select(specColumns)
      .from(specs)
      .innerJoin(projectTable, eq(projectTable.id, specs.projectId))
      .where(and(match, visibleTo(rights)))
      .$dynamic()
  const here = within ? eq(specs.projectId, within.id) : eq(specs.organizationId, currentOrganization(ctx.actor))
  const found = await findByReference<Spec>(ref, {
    id: (id) => select(eq(specs.id, id)),
    name: async (slug) => {
      const found = await select(and(here, eq(specs.slug, slug.toLowerCase()))).limit(5)
      if (found.length < 2) return found
      // A project that moved here from another team may have a slug that already exists.
      const project = await defaultProject(ctx)
      const own = found.filter((spec) => spec.projectId === project?.id)
      if (own.length === 0)
        throw new AppError(
          'conflict',
          `Several projects have a spec "${slug}". Use its id: ${found.map((s) => s.id).join(', ')}.`,
        )
      return own
    },
    prefix: (prefix) => select(and(here, idStartsWith(specs.id, prefix))).limit(2),
  })
  if (!found) throw notFound('spec', ref)
  return found
}

export const specEvent = <D extends object>(spec: Spec, data?: D) => ({
  subjectId: spec.id,
  organizationId: spec.organizationId,
  projectId: spec.projectId,
  data: Object.assign({ title: spec.title, status: spec.status, version: spec.version }, data),
})
