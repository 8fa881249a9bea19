import { Type } from '@sinclair/typebox'
import { Pull } from '../../outside/codehosts/schema.ts'
import type { MemoryScope, RecordName } from '../../records/names.ts'
import type { FieldKind } from '../../records/sync.ts'
import { instant, nullable, object, oneOf, type TObject, text, url } from '../../schema.ts'
import { Agent } from '../agents/schema.ts'
import { Decision, Comment as Discussion } from '../decisions/schema.ts'
import { LinkCreate } from '../links/schema.ts'
import { Memory } from '../memory/schema.ts'
import { Note } from '../notes/schema.ts'
import { Project } from '../projects/schema.ts'
import { Repository } from '../repositories/schema.ts'
import { Session } from '../sessions/schema.ts'
import { Skill } from '../skills/schema.ts'
import { Spec, SpecVersion } from '../specs/schema.ts'
import { Epic, Story } from '../stories/schema.ts'
import { Comment, kinds, Task, TaskEvidence } from '../tasks/schema.ts'
import { View } from '../views/schema.ts'
import { Feature, FeatureReview, SubmittedEvidence } from '../workflow/schema.ts'

/** How exports describe an entity: a kind of record, or a part of records. */
interface Entity {
  /** The response schema of the web API: a record that the API could not have returned is not imported. */
  readonly schema?: TObject
  /** Its references besides `projectId`, the owning record first. */
  readonly references?: readonly Reference[]
  /** Fields that a later import changes, besides those that devices can change. */
  readonly fields?: Readonly<Record<string, FieldKind>>
  /** Its slug is unique on the whole server, so an imported record may need another one. */
  readonly hasSlug?: true
}

/** A field with the id of another record, or with a list of them. */
export interface Reference {
  readonly field: string
  readonly table: string
  /** Whether the record must exist in the team. By default it may also follow later, or be deleted. */
  readonly isNeeded?: true
  /** Whether it must be in the same project. */
  readonly inProject?: true
  /** For records that people may also use from other teams, if they see them. */
  readonly kind?: RecordName
  /** Whether the field becomes null if the team does not have the record. */
  readonly orNull?: true
}

export const requiredReference = (field: string, table: string): Reference => ({ field, table, isNeeded: true })
const laterReference = (field: string, table: string): Reference => ({ field, table })
export const nullableReference = (field: string, table: string): Reference => ({
  ...laterReference(field, table),
  orNull: true,
})
const projectReference = (field: string, table: string): Reference => ({
  ...requiredReference(field, table),
  inProject: true,
})

const authorFields = { actorType: oneOf(['user', 'agent', 'system']), actorName: text(200), createdAt: instant() }

/** The entities of an export, in its order: each record comes after the one it belongs to. */
export const entities = {
  project: { schema: Project, fields: { visibility: 'value', status: 'value' } },
  agent: { schema: Agent, hasSlug: true },
  skill: { schema: Skill, hasSlug: true },
  epic: { schema: Epic, fields: { position: 'value' } },
  story: { schema: Story, references: [projectReference('epicId', 'epics')], fields: { position: 'value' } },
  task: {
    schema: Task,
    references: [projectReference('storyId', 'stories'), laterReference('parentId', 'tasks')],
    fields: { completionNotes: 'text', position: 'value' },
  },
  comment: { schema: Comment, references: [requiredReference('taskId', 'tasks')] },
  evidence: {
    schema: object({ ...TaskEvidence.properties, ...authorFields }),
    references: [requiredReference('taskId', 'tasks')],
  },
  dependency: {
    schema: object({ kind: oneOf(kinds), createdAt: instant() }),
    references: [requiredReference('taskId', 'tasks'), requiredReference('blockedById', 'tasks')],
  },
  feature: {
    schema: Feature,
    references: [laterReference('taskIds', 'tasks'), laterReference('specId', 'specs')],
    fields: { position: 'value' },
  },
  gateEvidence: {
    schema: object({ ...SubmittedEvidence.properties, ...authorFields, verifiedAt: nullable(instant()) }),
    references: [requiredReference('featureId', 'features')],
  },
  review: {
    schema: object({ ...FeatureReview.properties, ...authorFields, comment: nullable(text(10_000)) }),
    references: [requiredReference('featureId', 'features')],
  },
  featureDependency: {
    schema: object({ createdAt: instant() }),
    references: [requiredReference('featureId', 'features'), requiredReference('blockedById', 'features')],
  },
  repository: { schema: object({ ...Repository.properties, host: url(), pulls: Type.Array(Pull) }) },
  pullRequest: {
    schema: object({ ...Pull.properties, createdAt: instant() }),
    references: [requiredReference('repositoryId', 'repositories'), nullableReference('featureId', 'features')],
  },
  spec: { schema: Spec },
  version: {
    schema: object({ ...SpecVersion.properties, content: Spec.properties.content }),
    references: [requiredReference('specId', 'specs')],
  },
  decision: {
    schema: Decision,
    references: [laterReference('supersedes', 'decisions'), laterReference('supersededById', 'decisions')],
  },
  discussion: { schema: Discussion, references: [requiredReference('decisionId', 'decisions')] },
  note: { schema: Note, hasSlug: true },
  session: { schema: Session, references: [nullableReference('taskId', 'tasks')] },
  memory: {
    schema: Memory,
    references: [laterReference('supersedes', 'memories'), laterReference('supersededById', 'memories')],
    fields: { supersededById: 'value' },
  },
  view: { schema: View },
  link: { schema: LinkCreate },
  file: {},
} satisfies Record<RecordName, Entity> & Record<string, Entity>

export const entityNamed = (name: string): Entity =>
  Object.hasOwn(entities, name) ? entities[name as keyof typeof entities] : {}

/** The record that a memory is about, by its scope. */
export const memoryReferences: Readonly<Record<MemoryScope, Reference>> = {
  project: requiredReference('scopeId', 'projects'),
  agent: { ...laterReference('scopeId', 'agents'), kind: 'agent' },
  session: { ...laterReference('scopeId', 'sessions'), kind: 'session' },
}
