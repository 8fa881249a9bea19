import { invalid } from '../../errors.ts'
import {
  array,
  bool,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  partial,
  type Static,
  type TSchema,
  text,
  time,
} from '../../schema.ts'

/** Which notifications reach a person, and how. Preferences store only what the person has changed. */

const Rule = object({
  inbox: bool({ description: 'It enters the inbox' }),
  mail: oneOf(['off', 'now', 'daily'], { description: 'now: a mail at once; daily: it joins the daily mail' }),
  push: bool({ description: 'Your browsers show it, if push notifications are on there' }),
})
export type NotificationRule = Static<typeof Rule>

/** `admin`: announcements; `other`: all reasons without a rule of their own. `security` has no rule. */
const perReason = <T extends TSchema>(rule: T) => ({
  question: rule,
  review: rule,
  mention: rule,
  assignment: rule,
  needs_you: rule,
  decision: rule,
  freed: rule,
  stalled: rule,
  invite: rule,
  admin: rule,
  other: rule,
})
const reasons = Object.keys(perReason(Rule)) as RuledReason[]
export type RuledReason = keyof ReturnType<typeof perReason>

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof weekdays)[number]

const Daily = object({
  at: text(5, { pattern: '^([01]\\d|2[0-3]):[0-5]\\d$', example: '08:00', description: 'In your time zone' }),
  days: array(oneOf(weekdays), 7, { uniqueItems: true, description: 'Default: monday to friday' }),
})
type Daily = Static<typeof Daily>

const email = bool({ description: 'Send announcements by mail: the same as `rules.admin.mail` now or off' })

/** As stored. */
export const NotificationPreferences = object({
  email: optional(bool()),
  rules: optional(partial(object(perReason(partial(Rule))))),
  daily: optional(partial(Daily)),
  pausedUntil: optional(text(40)),
})
export type NotificationPreferences = Static<typeof NotificationPreferences>

export const NotificationPreferencesAnswer = object({
  email,
  rules: object(perReason(Rule), { description: 'By reason. Notifications and mail about security are always sent' }),
  daily: object({
    ...Daily.properties,
    timezone: text(64, { example: 'Europe/Berlin', description: 'Of your profile, else of the server' }),
  }),
  pausedUntil: nullable(instant({ description: 'No mail and no push until then' })),
  sendsMail: bool({ description: 'This server can send mail' }),
})
export type NotificationPreferencesAnswer = Static<typeof NotificationPreferencesAnswer>

export const NotificationPreferencesPatch = partial(
  object({
    email,
    rules: nullable(partial(object(perReason(nullable(partial(Rule)))))),
    daily: nullable(partial(Daily)),
    pausedUntil: nullable(time({ description: 'Holds mail and push until then; null ends the pause' })),
  }),
)
export type NotificationPreferencesPatch = Static<typeof NotificationPreferencesPatch>

const usual: NotificationRule = { inbox: true, mail: 'off', push: true }
const usualDaily: Daily = { at: '08:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'] }

const isRuled = (reason: string): reason is RuledReason => (reasons as string[]).includes(reason)

/** Returns the rule for a notification of this reason. */
export function ruleFor(stored: NotificationPreferences = {}, reason: string): NotificationRule {
  if (reason === 'security') return usual
  const ruled = isRuled(reason) ? reason : 'other'
  const rule = { ...usual, ...stored.rules?.[ruled] }
  // `email` decides whether announcements are mailed: earlier versions of the server know only this preference.
  return ruled === 'admin' ? { ...rule, mail: stored.email === false ? 'off' : dailyOrNow(rule.mail) } : rule
}
const dailyOrNow = (mail: NotificationRule['mail']) => (mail === 'daily' ? 'daily' : 'now')

export const dailyTimeOf = ({ daily }: NotificationPreferences = {}): Daily => ({ ...usualDaily, ...daily })

export const isPaused = ({ pausedUntil }: NotificationPreferences = {}, now: string): boolean =>
  pausedUntil !== undefined && pausedUntil > now

/** Returns the time zone of a person; the server's, if their profile names none. */
export const zoneOf = ({ timezone }: { timezone: string | null }): string =>
  timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone

/** Fills in the defaults. */
export const withNotificationDefaults = (
  stored: NotificationPreferences = {},
  { timezone, now, sendsMail }: { timezone: string | null; now: string; sendsMail: boolean },
): NotificationPreferencesAnswer => ({
  email: ruleFor(stored, 'admin').mail !== 'off',
  rules: Object.fromEntries(reasons.map((reason) => [reason, ruleFor(stored, reason)])) as Record<
    RuledReason,
    NotificationRule
  >,
  daily: { ...dailyTimeOf(stored), timezone: zoneOf({ timezone }) },
  pausedUntil: isPaused(stored, now) ? (stored.pausedUntil ?? null) : null,
  sendsMail,
})

/** Applies a change: each channel of each reason changes alone, and null resets a value to its default. */
export function changeNotificationPreferences(
  before: NotificationPreferences = {},
  patch: NotificationPreferencesPatch,
): NotificationPreferences {
  const rules: Record<string, Partial<NotificationRule> | null> = patch.rules === null ? {} : { ...before.rules }
  for (const [reason, change] of Object.entries(patch.rules ?? {}))
    rules[reason] = change && { ...rules[reason], ...change }
  const admin = patch.rules === null ? null : patch.rules?.admin
  const announced = admin === null ? true : admin?.mail === undefined ? patch.email : admin.mail !== 'off'
  const pausedUntil = patch.pausedUntil && new Date(patch.pausedUntil).toISOString()
  // Databases read other years in another way.
  if (pausedUntil && !/^[1-9]\d{3}-/.test(pausedUntil))
    throw invalid('/notifications/pausedUntil', 'Choose a year between 1000 and 9999.')
  if (patch.daily?.days?.length === 0) throw invalid('/notifications/daily/days', 'Choose at least one day.')
  return withoutNulls({
    ...before,
    ...patch,
    ...(pausedUntil && { pausedUntil }),
    ...(announced !== undefined && { email: announced }),
    rules: withoutNulls(rules),
    daily: patch.daily === null ? {} : { ...before.daily, ...patch.daily },
  })
}

/** Omits what is null, undefined or an empty object. */
const withoutNulls = <T extends object>(source: Record<string, unknown>): T =>
  Object.fromEntries(
    Object.entries(source).filter(
      ([, value]) =>
        value !== null && value !== undefined && !(typeof value === 'object' && Object.keys(value).length === 0),
    ),
  ) as T
