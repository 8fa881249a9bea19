import { and, eq, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { anyone, member, memberOrAlone, permissionOf, type Refusal, ruleRefusal, wholeTeam } from '../../auth/policy.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { randomTail } from '../../auth/secrets.ts'
import { anyOf, hasAll, idList, matches } from '../../db/columns.ts'
import { prepare } from '../../db/session.ts'
import { AppError } from '../../errors.ts'
import { requireContentSize } from '../../records/content-size.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { type Scope, scopes } from '../../records/scopes.ts'
import { emitMoved } from '../../records/synced-changes.ts'
import { slugify } from '../../text/text.ts'
import {
  findPublicRow,
  findShared,
  findToRestore,
  listShared,
  ownerFor,
  requireWriter,
  scopeConditions,
  visibleTo as sharedVisibleTo,
  teamScopes,
  writerRefusal,
} from '../organizations/sharing.ts'
import { skillCreated, skillDeleted, skillRestored, skillUpdated } from './events.ts'
import { placeholdersIn } from './placeholders.ts'
import { isNamedByProject } from './project-skills.ts'
import {
  CONTENT_BYTES,
  type PublicSkill,
  type Skill,
  type SkillCreate,
  type SkillDetail,
  type SkillItem,
  type SkillPage,
  type SkillPatch,
  type SkillQuery,
} from './schema.ts'
import { skillCalls, skills } from './table.ts'

const skillItemColumns = {
  id: skills.id,
  createdAt: skills.createdAt,
  updatedAt: skills.updatedAt,
  version: skills.version,
  organizationId: skills.organizationId,
  createdById: skills.createdById,
  name: skills.name,
  slug: skills.slug,
  description: skills.description,
  tags: skills.tags,
  scope: skills.scope,
}
export const skillColumns = { ...skillItemColumns, content: skills.content }

const skillWriteRule = wholeTeam(memberOrAlone('skills:write'))

/** Finds a skill by id, slug or unique id prefix. */
export const findSkill = (ctx: Ctx, ref: string): Promise<Skill> =>
  findShared(ctx, skills, skillColumns, { noun: 'skill', ref, visible: visibleTo(rightsOf(ctx.actor)) })

/** A credential that is limited to projects sees only skills that these projects name (`settings.skills`). */
export const visibleTo = (rights: Rights): SQL => sharedVisibleTo(skills, rights, isNamedByProject)

/** Returns those of these skills that exist and that the caller sees, in no particular order. */
export const findSkillsByIds = (ctx: Ctx, ids: readonly string[]): Promise<SkillItem[]> =>
  ctx.db
    .select(skillItemColumns)
    .from(skills)
    .where(and(anyOf(skills.id, idList(ids)), visibleTo(rightsOf(ctx.actor))))

async function listPage(ctx: Ctx, query: SkillQuery, from: readonly Scope[]): Promise<SkillPage> {
  const sort = { updatedAt: skills.updatedAt, createdAt: skills.createdAt, name: skills.name }
  const found = await listShared<SkillItem>(ctx, skills, {
    columns: skillItemColumns,
    visible: visibleTo(rightsOf(ctx.actor)),
    page: keyset(sort, skills.id, query, { sort: 'updatedAt' }),
    parts: scopeConditions(ctx, skills, from),
    filters: [
      query.scope && eq(skills.scope, query.scope),
      hasAll(skills.tags, query.tag),
      query.search ? matches(skills.search, query.search) : undefined,
    ],
    total: query.total,
  })
  return {
    ...found,
    can: { create: permissionOf(ruleRefusal(ctx.actor, skillWriteRule, 'skills.create', ctx.app.clock)) },
  }
}

/** Returns what the caller may do with a skill, for surfaces that offer actions. */
const skillPermissions = (ctx: Ctx, skill: Skill): SkillDetail['can'] => {
  const ask = (action: 'update' | 'remove') =>
    ruleRefusal(ctx.actor, skillWriteRule, `skills.${action}`, ctx.app.clock) ?? writerRefusal(ctx, 'skill', skill)
  const update = ask('update')
  const move = (scope: Scope) => permissionOf(update ?? moveRefusal(ctx, skill, scope))
  return {
    update: permissionOf(update),
    remove: permissionOf(ask('remove')),
    makePersonal: move('personal'),
    makeTeam: move('team'),
    makePublic: move('public'),
  }
}

/** Returns why the caller may not give a skill this scope, or undefined. */
function moveRefusal(ctx: Ctx, skill: Skill, scope: Scope): Refusal | undefined {
  try {
    return writerRefusal(ctx, 'skill', { ...skill, ...ownerFor(ctx, 'skill', scope, skill) })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { code: error.code, detail: error.message }
  }
}

/** Lists personal skills, those of the current team, and all public ones. */
export const list = read(
  'skills.list',
  memberOrAlone('skills:read'),
  (ctx, query: SkillQuery): Promise<SkillPage> => listPage(ctx, query, query.scope ? [query.scope] : scopes),
)

/** Lists the current team's own skills, including those it made public. */
export const listInTeam = read(
  'skills.listInTeam',
  member('skills:read'),
  (ctx, query: SkillQuery): Promise<SkillPage> => listPage(ctx, query, teamScopes(ctx.actor)),
)

export const get = read(
  'skills.get',
  memberOrAlone('skills:read'),
  async (ctx, { ref }: { ref: string }): Promise<SkillDetail> => {
    const skill = await findSkill(ctx, ref)
    return { ...skill, can: skillPermissions(ctx, skill) }
  },
)

const FOUND = 50

const isOfOthers = ({ actor }: Ctx, { scope, organizationId, createdById }: Skill): boolean =>
  scope === 'public' &&
  organizationId !== actor.organizationId &&
  (organizationId !== null || createdById !== actor.userId)

/** Counts reads of a public skill by other teams. It is a statistic of the marketplace, not a change of the skill. */
const countCall = prepare((db) =>
  db
    .insert(skillCalls)
    .values({ skillId: sql.placeholder('id'), calls: 1 })
    .onConflictDoUpdate({ target: skillCalls.skillId, set: { calls: sql`${skillCalls.calls} + 1` } }),
)

/** Returns one skill with its content; without a reference, a list with the team's skills before public ones. */
export const getOrList = read(
  'skills.getOrList',
  member('skills:read'),
  async (ctx, { ref }: { ref?: string }): Promise<Skill | SkillPage> => {
    if (ref !== undefined) {
      const skill = await findSkill(ctx, ref)
      if (isOfOthers(ctx, skill)) await countCall(ctx.db, { id: skill.id })
      return skill
    }
    const own = await listPage(ctx, { limit: FOUND }, teamScopes(ctx.actor))
    const all = await listPage(ctx, { limit: FOUND, total: true }, [...teamScopes(ctx.actor), 'public'])
    const known = new Set(own.items.map(({ id }) => id))
    const others = all.items.filter(({ id }) => !known.has(id))
    return { items: [...own.items, ...others].slice(0, FOUND), nextCursor: null, total: all.total }
  },
)

export const create = write(
  'skills.create',
  skillWriteRule,
  async (ctx, input: SkillCreate & { id?: string }): Promise<Skill> => {
    checkContent(input.content)
    const [skill] = await ctx.db
      .insert(skills)
      .values({
        id: input.id,
        ...ownerFor(ctx, 'skill', input.scope),
        createdById: userIdOf(ctx.actor),
        name: input.name.trim(),
        slug: `${slugify(input.name) || 'skill'}-${randomTail()}`,
        description: input.description,
        content: input.content ?? '',
        placeholders: placeholdersIn(input.content ?? ''),
        tags: input.tags ?? [],
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .returning(skillColumns)
    if (!skill) throw new Error('insert returned nothing')
    ctx.emit(skillCreated, skillEvent(skill))
    return skill
  },
)

export const update = write(
  'skills.update',
  skillWriteRule,
  async (ctx, { ref, ...patch }: SkillPatch & { ref: string }): Promise<Skill> => {
    const before = await findWritableSkill(ctx, ref)
    checkContent(patch.content)
    const place = patch.scope === undefined ? {} : ownerFor(ctx, 'skill', patch.scope, before)
    // The caller must also be allowed to write in the new scope, so that they can undo the change.
    requireWriter(ctx, 'skill', { ...before, ...place })
    const name = patch.name === undefined ? {} : { name: patch.name.trim() }
    const content = patch.content === undefined ? {} : { placeholders: placeholdersIn(patch.content) }
    const after = await changeSkill(ctx, before, { ...patch, ...name, ...content, ...place })
    ctx.emit(skillUpdated, skillEvent(after, { fields: Object.keys(patch) }))
    emitMoved(ctx, 'skill', after.id, skillEvent(before), skillEvent(after))
    return after
  },
  { versioned: true },
)

export const remove = write(
  'skills.remove',
  skillWriteRule,
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const before = await findWritableSkill(ctx, ref)
    ctx.emit(skillDeleted, skillEvent(await changeSkill(ctx, before, { deletedAt: ctx.now })))
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

export const restore = write(
  'skills.restore',
  skillWriteRule,
  async (ctx, { ref }: { ref: string }): Promise<Skill> => {
    const { row: before, deletedAt } = await findToRestore<Skill>(ctx, skills, skillColumns, 'skill', ref, skillDeleted)
    checkVersion(ctx, before)
    if (deletedAt === null) return before
    const after = await changeSkill(ctx, before, { deletedAt: null })
    ctx.emit(skillRestored, skillEvent(after))
    return after
  },
  { idempotent: true, versioned: true },
)

const publicSkillColumns = {
  name: skills.name,
  slug: skills.slug,
  description: skills.description,
  content: skills.content,
  tags: skills.tags,
  createdAt: skills.createdAt,
  updatedAt: skills.updatedAt,
}

export const getPublic = read(
  'skills.getPublic',
  anyone,
  (ctx, { slug }: { slug: string }): Promise<PublicSkill> =>
    findPublicRow(ctx, skills, publicSkillColumns, 'skill', slug),
)

async function findWritableSkill(ctx: Ctx, ref: string): Promise<Skill> {
  const found = await findSkill(ctx, ref)
  requireWriter(ctx, 'skill', found)
  checkVersion(ctx, found)
  return found
}

const changeSkill = (ctx: Ctx, before: Skill, set: Partial<typeof skills.$inferInsert>): Promise<Skill> =>
  updateVersioned(ctx, skills, {
    columns: skillColumns,
    before,
    set,
    what: 'this skill',
    again: () => findSkill(ctx, before.id),
  })

const skillEvent = <D extends object>(skill: Skill, data?: D) => ({
  subjectId: skill.id,
  organizationId: skill.organizationId,
  userId: skill.organizationId ? null : skill.createdById,
  data: Object.assign({ name: skill.name, version: skill.version }, data),
})

function checkContent(content: string | undefined): void {
  if (content !== undefined) requireContentSize(content, CONTENT_BYTES)
}
