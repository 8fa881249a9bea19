import { Author, scopes } from '../../records/scopes.ts'
import {
  array,
  id,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  partial,
  permissions,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'

/** At most 256 KiB. The schema counts characters, so it only stops much larger texts; the service counts bytes. */
export const CONTENT_BYTES = 256 << 10

const name = title(100, { example: 'Review a migration' })
const slug = text(80, { example: 'review-a-migration-x7k2p9' })
const description = text(1024, {
  example: 'What to look for before a schema change is merged',
  description: 'When to use the skill',
})
const content = text(CONTENT_BYTES, { example: '# Review a migration\n\n1. Is it additive?', description: 'Markdown' })
const tags = array(title(50, { example: 'review' }), 50, { uniqueItems: true })

export const Skill = object({
  ...recordFields,
  organizationId: nullable(id()),
  createdById: nullable(id()),
  name,
  slug,
  description: nullable(description),
  content,
  tags,
  scope: oneOf(scopes),
})
export type Skill = Static<typeof Skill>

/** `makeTeam` and the like change the scope. */
const skillActions = ['update', 'remove', 'makePersonal', 'makeTeam', 'makePublic'] as const

export const SkillDetail = object({ ...Skill.properties, can: permissions(skillActions) })
export type SkillDetail = Static<typeof SkillDetail>

/** List item: a skill without its content. */
export const SkillItem = object((({ content: _, ...rest }) => rest)(Skill.properties))
export type SkillItem = Static<typeof SkillItem>

export const SkillCreate = object({
  name,
  description: optional(description),
  content: optional(content),
  tags: optional(tags),
  scope: optional(
    oneOf(scopes, { example: 'team', description: 'Default: team, the current one; personal without a team' }),
  ),
})
export type SkillCreate = Static<typeof SkillCreate>

export const SkillPatch = partial(
  object({ name, description: nullable(description), content, tags, scope: oneOf(scopes) }),
)
export type SkillPatch = Static<typeof SkillPatch>

export const SkillQuery = object({
  ...paging('updatedAt', 'createdAt', 'name'),
  scope: optional(oneOf(scopes, { description: 'Default: all three; team is the current team' })),
  tag: optional(text(50)),
  search: optional(text(200, { description: 'Words that must all occur' })),
})
export type SkillQuery = Static<typeof SkillQuery>
export const SkillPage = object({ ...pageOf(SkillItem).properties, can: optional(permissions(['create'])) })
export type SkillPage = Static<typeof SkillPage>

export const SkillRef = object({
  id: text(100, { minLength: 1, description: 'Id, slug or unique id prefix', example: slug.examples[0] }),
})

/** Fields that a visitor without an account sees. */
export const PublicSkill = object({
  name,
  slug,
  description: nullable(description),
  content,
  tags,
  author: Author,
  createdAt: instant(),
  updatedAt: instant(),
})
export type PublicSkill = Static<typeof PublicSkill>
