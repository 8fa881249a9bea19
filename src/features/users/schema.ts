import {
  array,
  email,
  id,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  partial,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'
import {
  NotificationPreferences,
  NotificationPreferencesAnswer,
  NotificationPreferencesPatch,
} from './notification-rules.ts'

const theme = oneOf(['system', 'light', 'dark'])
const weekStart = oneOf(['monday', 'sunday'])
const density = oneOf(['comfortable', 'compact'])
const presence = oneOf(['on', 'off'], { description: '`off`: other people do not see which page you have open' })
const shortcuts = oneOf(['on', 'off'], { description: '`off`: single-key shortcuts are disabled in the dashboard' })
const firstSteps = oneOf(['auto', 'on', 'off'], {
  description: 'The first steps on the home page; auto: until they are done',
})
const favourites = array(id(), 50, { description: 'Projects, tasks, notes and other records, and saved views' })
const currentOrganizationId = id({ description: 'Team for requests that do not name one' })

/** Stored preferences: only those that the user set. */
export const Preferences = object({
  currentOrganizationId: optional(id()),
  theme: optional(theme),
  weekStart: optional(weekStart),
  density: optional(density),
  presence: optional(presence),
  shortcuts: optional(shortcuts),
  firstSteps: optional(firstSteps),
  /** Earlier versions stored up to 100. */
  favourites: optional(array(id(), 100)),
  notifications: optional(NotificationPreferences),
})
export type Preferences = Static<typeof Preferences>

/** Preferences in effect, with defaults. */
export const PreferencesAnswer = object({
  currentOrganizationId: nullable(currentOrganizationId),
  theme,
  weekStart,
  density,
  presence,
  shortcuts,
  firstSteps,
  favourites,
  notifications: NotificationPreferencesAnswer,
})
export type PreferencesAnswer = Static<typeof PreferencesAnswer>

/** `null` resets a preference to its default. */
export const PreferencesPatch = partial(
  object({
    currentOrganizationId: nullable(currentOrganizationId),
    theme: nullable(theme),
    weekStart: nullable(weekStart),
    density: nullable(density),
    presence: nullable(presence),
    shortcuts: nullable(shortcuts),
    firstSteps: nullable(firstSteps),
    favourites: nullable(favourites),
    notifications: nullable(NotificationPreferencesPatch),
  }),
)
export type PreferencesPatch = Static<typeof PreferencesPatch>

export const User = object({
  ...recordFields,
  email: email(),
  name: title(100, { example: 'Ada Lovelace' }),
  handle: text(63, { pattern: '^[a-z0-9](-?[a-z0-9])*$', example: 'ada' }),
  avatarUrl: nullable(text(2000)),
  coverUrl: nullable(text(2000)),
  bio: nullable(text(2000)),
  timezone: nullable(text(64)),
  locale: nullable(text(35)),
  role: oneOf(['user', 'admin']),
  status: oneOf(['active', 'suspended']),
  emailVerifiedAt: nullable(instant()),
  onboardedAt: nullable(instant()),
  preferences: Preferences,
})
export type User = Static<typeof User>
