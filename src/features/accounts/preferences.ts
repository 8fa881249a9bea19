import { eq, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account } from '../../auth/policy.ts'
import { AppError, notFound } from '../../errors.ts'
import { userPreferencesChanged } from '../users/events.ts'
import { changeNotificationPreferences, withNotificationDefaults } from '../users/notification-rules.ts'
import type { Preferences, PreferencesAnswer, PreferencesPatch } from '../users/schema.ts'
import { users } from '../users/table.ts'

/** `Preferences` accepts more, because earlier versions stored more. */
const MOST_FAVOURITES = 50

/** Fills in the defaults. A current organization that the caller has left is ignored. */
const withDefaults = (
  ctx: Ctx,
  { currentOrganizationId: chosen, notifications, favourites = [], ...rest }: Preferences,
  timezone: string | null,
): PreferencesAnswer => ({
  theme: 'system',
  weekStart: 'monday',
  density: 'comfortable',
  presence: 'on',
  shortcuts: 'on',
  firstSteps: 'auto',
  ...rest,
  favourites: favourites.slice(0, MOST_FAVOURITES),
  currentOrganizationId: chosen && ctx.actor.memberships.has(chosen) ? chosen : null,
  notifications: withNotificationDefaults(notifications, {
    timezone,
    now: ctx.now,
    sendsMail: ctx.app.config.SMTP_URL !== undefined,
  }),
})

async function readPreferences(ctx: Ctx, lock = false): Promise<{ preferences: Preferences; timezone: string | null }> {
  const select = ctx.db
    .select({ preferences: users.preferences, timezone: users.timezone })
    .from(users)
    .where(eq(users.id, userIdOf(ctx.actor)))
  const [user] = await (lock ? select.for('update') : select)
  if (!user) throw new AppError('unauthenticated', 'This account no longer exists.')
  return user
}

export const getPreferences = read(
  'accounts.preferences',
  account('account:read'),
  async (ctx, _: Record<string, never>): Promise<PreferencesAnswer> => {
    const { preferences, timezone } = await readPreferences(ctx)
    return withDefaults(ctx, preferences, timezone)
  },
)

export const updatePreferences = write(
  'accounts.updatePreferences',
  account('account:write'),
  async (ctx, patch: PreferencesPatch): Promise<PreferencesAnswer> => {
    const { currentOrganizationId: wanted } = patch
    if (wanted && !ctx.actor.memberships.has(wanted)) throw notFound('organization', wanted)
    // Locked, so that concurrent changes of different preferences do not overwrite each other.
    const { preferences: before, timezone } = await readPreferences(ctx, true)
    const merged = {
      ...before,
      ...patch,
      ...(patch.notifications && {
        notifications: changeNotificationPreferences(before.notifications, patch.notifications),
      }),
    }
    const after = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)) as Preferences
    const userId = userIdOf(ctx.actor)
    await ctx.db
      .update(users)
      .set({ preferences: after, updatedAt: ctx.now, version: sql`${users.version} + 1` })
      .where(eq(users.id, userId))
    ctx.emit(userPreferencesChanged, { subjectId: userId, userId, data: { fields: Object.keys(patch) } })
    return withDefaults(ctx, after, timezone)
  },
)
