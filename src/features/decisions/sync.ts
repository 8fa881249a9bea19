import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import {
  type Container,
  type SyncEntity,
  type SyncRules,
  splitContainer,
  splitFields,
  validateFields,
} from '../../records/sync.ts'
import { id, object } from '../../schema.ts'
import { liveOfTeamOrProject } from '../projects/visible.ts'
import { commentOnDecision } from './comments.ts'
import { decisionColumns } from './rows.ts'
import { CommentCreate, DecisionCreate, DecisionPatch } from './schema.ts'
import { create, update } from './service.ts'
import { decisionComments, decisions } from './table.ts'

const startsAs = new Set<unknown>(['proposed', 'accepted'])

/** The web API deletes no decision, so devices cannot either. */
export const decisionSync: SyncRules<Ctx> = {
  columns: decisionColumns,
  fields: {
    title: 'value',
    context: 'text',
    decision: 'text',
    rationale: 'text',
    alternatives: 'value',
    status: 'value',
    outcome: 'text',
    tags: 'set',
  },
  onCreate: ['projectId', 'supersedes'],
  create: async (ctx, id, fields) => {
    const isLater = (name: string, value: unknown) => name === 'outcome' || (name === 'status' && !startsAs.has(value))
    const { now, later } = splitFields(fields, isLater)
    await create(ctx, { ...validateFields(DecisionCreate, now), id })
    if (Object.keys(later).length > 0) await update(ctx, { ...validateFields(DecisionPatch, later), ref: id })
  },
  update: (ctx, { id }, fields) => update(ctx, { ...validateFields(DecisionPatch, fields), ref: id }),
}

const ofDecision = object({ id: id({ description: 'decisionId' }) })

/** Comments on decisions can only be added. They sync with the team or project of their decision. */
export const discussionSync: SyncEntity<Ctx> = {
  entity: 'discussion',
  table: decisionComments,
  scope: 'decisions:read',
  version: sql`1`,
  columns: {
    id: decisionComments.id,
    decisionId: decisionComments.decisionId,
    authorType: decisionComments.authorType,
    authorId: decisionComments.authorId,
    authorName: decisionComments.authorName,
    body: decisionComments.body,
    createdAt: decisionComments.createdAt,
  },
  fields: {},
  onCreate: ['decisionId', 'body'],
  create: (ctx, id, { decisionId, ...fields }) =>
    commentOnDecision(ctx, {
      ...validateFields(CommentCreate, fields),
      ref: validateFields(ofDecision, { id: decisionId }).id,
      id,
    }),
  place: {
    visible: (rights) =>
      sql`exists (select 1 from ${decisions} where ${decisions.id} = ${decisionComments.decisionId}
        and ${liveOfTeamOrProject(decisions)(rights)})`,
    container: sql<Container>`(select coalesce('project:' || ${decisions.projectId},
      'organization:' || ${decisions.organizationId}) from ${decisions}
      where ${decisions.id} = ${decisionComments.decisionId})`,
    inContainer: (container) => {
      const { type, id } = splitContainer(container)
      if (type === 'user') return sql`false`
      const place =
        type === 'project'
          ? sql`${decisions.projectId} = ${id}::uuid`
          : sql`${decisions.projectId} is null and ${decisions.organizationId} = ${id}::uuid`
      return sql`${decisionComments.decisionId} in (select ${decisions.id} from ${decisions}
        where ${place} and ${decisions.deletedAt} is null)`
    },
  },
}
