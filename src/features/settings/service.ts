import { eq } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { admin, anyone, recentAdmin } from '../../auth/policy.ts'
import { check } from '../../check.ts'
import { AppError, notFound } from '../../errors.ts'
import { nullable, object, optional, type TSchema } from '../../schema.ts'
import { settingUpdated } from './events.ts'
import { fieldsOf, isSettingKey, registry, type SettingKey, settingKeys } from './registry.ts'
import type { PublicSetting, Seeded, Setting, SettingField, SettingList, SettingPatch } from './schema.ts'
import { type SealedSecret, siteSettings } from './table.ts'
import { effectiveValues, settingsOf } from './values.ts'

/** Minutes since the administrator last confirmed their identity. */
const RECENT = 60
type Row = typeof siteSettings.$inferSelect
type Nothing = Record<string, never>

function typeOf(schema: TSchema, isSecret?: true): Pick<SettingField, 'type' | 'choices'> {
  const inner = ((schema.anyOf as TSchema[] | undefined) ?? [schema]).find(({ type }) => type !== 'null') ?? schema
  if (isSecret) return { type: 'secret' }
  if (inner.enum) return { type: 'choice', choices: [...(inner.enum as string[])] }
  if (inner.type === 'boolean') return { type: 'flag' }
  if (inner.type === 'array') return { type: 'list' }
  if (inner.type === 'object') return { type: 'table' }
  return { type: inner.format === 'date-time' ? 'time' : 'text' }
}

function toSetting({ app }: Ctx, key: SettingKey, row: Row | undefined): Setting {
  const fields = fieldsOf(key)
  const secrets = fields.flatMap(([name, { isSecret }]) => {
    const last4 = row?.secrets[name]?.last4 ?? null
    return isSecret ? [[name, { set: last4 !== null, last4 }]] : []
  })
  return {
    key,
    about: registry[key].about,
    values: { ...effectiveValues(app, key, row?.values), ...Object.fromEntries(secrets) },
    defaults: Object.fromEntries(
      fields.flatMap(([name, { fallback, isSecret }]) => (isSecret ? [] : [[name, fallback]])),
    ),
    stored: fields.map(([name]) => name).filter((name) => name in { ...row?.values, ...row?.secrets }),
    fields: fields.map(([name, { about, schema, isPublic, isSecret, prescribed }]) => ({
      name,
      about,
      ...typeOf(schema, isSecret),
      public: isPublic === true,
      fixedBy: prescribed?.(app.config)?.by ?? null,
    })),
    version: row?.version ?? 0,
    updatedAt: row?.updatedAt ?? null,
  }
}

function requireKey(key: string): SettingKey {
  if (!isSettingKey(key)) throw notFound('setting', key)
  return key
}

async function rowOf(ctx: Ctx, key: SettingKey): Promise<Row | undefined> {
  const [row] = await ctx.db.select().from(siteSettings).where(eq(siteSettings.key, key))
  return row
}

export const list = read('settings.list', recentAdmin(RECENT), async (ctx, _: Nothing): Promise<SettingList> => {
  const rows = new Map((await ctx.db.select().from(siteSettings)).map((row) => [row.key, row]))
  return { items: settingKeys.map((key) => toSetting(ctx, key, rows.get(key))) }
})

export const get = read('settings.get', recentAdmin(RECENT), async (ctx, input: { key: string }): Promise<Setting> => {
  const key = requireKey(input.key)
  return toSetting(ctx, key, await rowOf(ctx, key))
})

function checkFields(ctx: Ctx, key: SettingKey, patch: SettingPatch): void {
  const fields = fieldsOf(key)
  const schema = object(Object.fromEntries(fields.map(([name, field]) => [name, optional(nullable(field.schema))])))
  const errors = check(schema, patch)
  if (errors[0]) throw new AppError('invalid', errors[0].message, { errors })
  for (const [name, { prescribed }] of fields) {
    const fixed = name in patch ? prescribed?.(ctx.app.config) : undefined
    if (fixed && patch[name] !== fixed.value)
      throw new AppError('conflict', `${name} is set by ${fixed.by} in the environment of the server. Change it there.`)
  }
}

/** The last characters, by which people recognise a secret; empty for a secret so short that they would reveal it. */
const lastCharacters = (secret: string): string => (secret.length < 12 ? '' : secret.slice(-4))

/** Returns the stored values and secrets with the change applied. Null resets a field to its default. */
function applyPatch({ app }: Ctx, key: SettingKey, row: Row | undefined, patch: SettingPatch) {
  const values = { ...row?.values }
  const secrets: Record<string, SealedSecret> = { ...row?.secrets }
  for (const [name, { isSecret }] of fieldsOf(key)) {
    if (!(name in patch)) continue
    const value = patch[name]
    const isUnset = value === null || value === ''
    if (isSecret && isUnset) delete secrets[name]
    else if (isSecret) secrets[name] = { sealed: app.seal.close(String(value)), last4: lastCharacters(String(value)) }
    else if (value === null) delete values[name]
    else values[name] = value
  }
  return { values, secrets }
}

export const update = write(
  'settings.update',
  recentAdmin(RECENT),
  async (ctx, { key: name, patch }: { key: string; patch: SettingPatch }): Promise<Setting> => {
    const key = requireKey(name)
    checkFields(ctx, key, patch)
    const before = await lockRow(ctx, key)
    checkVersion(ctx, { ...toSetting(ctx, key, before), version: before.version })
    const fields = Object.keys(patch)
    if (fields.length === 0) return toSetting(ctx, key, before.version === 0 ? undefined : before)
    const [after] = await ctx.db
      .update(siteSettings)
      .set({
        ...applyPatch(ctx, key, before, patch),
        version: before.version + 1,
        updatedAt: ctx.now,
        updatedById: ctx.actor.userId,
      })
      .where(eq(siteSettings.key, key))
      .returning()
    ctx.emit(settingUpdated, { userId: ctx.actor.userId, data: { key, fields } })
    return toSetting(ctx, key, after)
  },
  { versioned: true },
)

/** Returns the row of the key, locked. Creates it if there is none, so that there is a row to lock. */
async function lockRow(ctx: Ctx, key: SettingKey): Promise<Row> {
  await ctx.db
    .insert(siteSettings)
    .values({ key, values: {}, secrets: {}, version: 0, updatedAt: ctx.now })
    .onConflictDoNothing()
  const [row] = await ctx.db.select().from(siteSettings).where(eq(siteSettings.key, key)).for('update')
  if (!row) throw new Error('the setting was not stored')
  return row
}

/** Stores the defaults of keys without a stored value, so that new defaults of later versions do not apply to them. */
export const storeDefaults = write(
  'settings.seed',
  admin,
  async (ctx, _: Nothing): Promise<Seeded> => {
    const rows = settingKeys.map((key) => ({
      key,
      values: effectiveValues({ config: ctx.app.config }, key) as Record<string, unknown>,
      secrets: {},
      updatedAt: ctx.now,
      updatedById: ctx.actor.userId,
    }))
    const made = await ctx.db
      .insert(siteSettings)
      .values(rows)
      .onConflictDoNothing()
      .returning({ key: siteSettings.key })
    const seeded = new Set(made.map(({ key }) => key))
    for (const key of seeded) ctx.emit(settingUpdated, { userId: ctx.actor.userId, data: { key, fields: [] } })
    return {
      seeded: settingKeys.filter((key) => seeded.has(key)),
      kept: settingKeys.filter((key) => !seeded.has(key)),
    }
  },
  { idempotent: true },
)

/** Returns the public fields of a key. A key without public fields is not found, like one that does not exist. */
export const getPublic = read(
  'settings.getPublic',
  anyone,
  async (ctx, input: { key: string }): Promise<PublicSetting> => {
    const key = isSettingKey(input.key) ? input.key : undefined
    const names = key ? fieldsOf(key).flatMap(([name, { isPublic }]) => (isPublic ? [name] : [])) : []
    if (!key || names.length === 0) throw notFound('setting', input.key)
    const values: Record<string, unknown> = (await settingsOf(ctx))[key]
    return { key, values: Object.fromEntries(names.map((name) => [name, values[name]])) }
  },
)

/** Returns a stored secret, for the server's own use. */
export async function secretOf(ctx: Ctx, key: SettingKey, field: string): Promise<string | undefined> {
  const sealed = (await rowOf(ctx, key))?.secrets[field]?.sealed
  return sealed === undefined ? undefined : ctx.app.seal.open(sealed)
}
