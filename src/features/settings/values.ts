import type { Ctx } from '../../action.ts'
import type { Db } from '../../db/session.ts'
import { AppError } from '../../errors.ts'
import type { App } from '../../services.ts'
import { settingUpdated } from './events.ts'
import { fieldsOf, type SettingKey, settingKeys, type ValuesOf } from './registry.ts'
import { siteSettings } from './table.ts'

/** Values stay in memory for at most this long, in case the notification of a change is lost. */
const KEEP_MS = 1000

type SettingRow = typeof siteSettings.$inferSelect
type AllSettings = { [K in SettingKey]: ValuesOf<K> }

interface LoadedSettings {
  values: AllSettings
  /** Grows with each change that this instance was notified of. */
  generation: number
  readAt: number
}

interface SettingsCache {
  generation: number
  kept?: LoadedSettings
  reading?: Promise<LoadedSettings>
}

const settingsCaches = new WeakMap<App, SettingsCache>()

function settingsCacheOf(app: App): SettingsCache {
  const known = settingsCaches.get(app)
  if (known) return known
  const memory: SettingsCache = { generation: 0 }
  settingsCaches.set(app, memory)
  app.bus.subscribe(({ type }) => {
    if (type === settingUpdated.name) memory.generation++
  })
  return memory
}

/** Returns the effective values of one key: from the environment, else from the database, else the defaults. */
export function effectiveValues<K extends SettingKey>(
  { config }: Pick<App, 'config'>,
  key: K,
  stored: Record<string, unknown> = {},
): ValuesOf<K> {
  const values = fieldsOf(key)
    .filter(([, { isSecret }]) => !isSecret)
    .map(([name, { fallback, prescribed }]) => {
      const fixed = prescribed?.(config)
      return [name, fixed ? fixed.value : Object.hasOwn(stored, name) ? stored[name] : fallback]
    })
  return Object.fromEntries(values) as ValuesOf<K>
}

async function loadSettings(app: App, db: Db, generation: number): Promise<LoadedSettings> {
  const rows = await db.select({ key: siteSettings.key, values: siteSettings.values }).from(siteSettings)
  const stored = new Map(rows.map(({ key, values }): [string, SettingRow['values']] => [key, values]))
  const values = Object.fromEntries(
    settingKeys.map((key) => [key, effectiveValues(app, key, stored.get(key))]),
  ) as AllSettings
  return { values, generation, readAt: performance.now() }
}

/**
 * Returns all settings, from memory if they were read within the last second and nothing changed since. Every public
 * page reads the settings, so they must cost nothing. A write reads them in its own transaction: it would otherwise
 * wait for a reader that waits for the write's connection.
 */
export async function settingsOf({ app, db, unit }: Pick<Ctx, 'app' | 'db' | 'unit'>): Promise<AllSettings> {
  const memory = settingsCacheOf(app)
  const { kept, generation } = memory
  if (kept && kept.generation === generation && performance.now() - kept.readAt < KEEP_MS) return kept.values
  if (unit) return (await loadSettings(app, db, generation)).values
  memory.reading ??= loadSettings(app, app.db, generation).finally(() => {
    memory.reading = undefined
  })
  const read = await memory.reading
  // A change during the read may be missing from it.
  if (read.generation === memory.generation) memory.kept = read
  return read.values
}

/** The parts of the site that can be switched off, with their names in messages. */
const siteParts = { blog: 'blog', community: 'community', contact: 'contact form', marketplace: 'marketplace' } as const

/** Requires that a part of the site is switched on; otherwise 404. */
export async function requireSitePart(ctx: Ctx, part: keyof typeof siteParts): Promise<void> {
  if (!(await settingsOf(ctx))[part].enabled) throw new AppError('not_found', `This server has no ${siteParts[part]}.`)
}
