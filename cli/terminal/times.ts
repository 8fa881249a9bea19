/** Formats and parses times for people. `--json` has exact times. */

const HOUR_MS = 3_600_000
const days = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

export const dateOf = (at: string): string => at.slice(0, 10)

/** A date without a time is the same everywhere; a time is shown in the reader's time zone. */
export const formatDue = (at: string): string =>
  at.endsWith('T00:00:00.000Z')
    ? dateOf(at)
    : new Date(at).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short' })

const formatMinutes = (minutes: number): string =>
  minutes < 60
    ? `${minutes} min`
    : minutes < 2880
      ? `${Math.round(minutes / 60)} h`
      : `${Math.round(minutes / 1440)} days`

export function timeAgo(at: string): string {
  const minutes = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 60_000))
  return minutes < 1 ? 'just now' : `${formatMinutes(minutes)} ago`
}

/** `14 min left`. The last minute counts as one, so that nothing has 0 min left. */
export function timeLeft(at: string): string {
  const ms = Date.parse(at) - Date.now()
  return ms <= 0 ? 'expired' : `${formatMinutes(Math.max(1, Math.round(ms / 60_000)))} left`
}

/**
 * Returns the instant that a user typed: a date or time as the API takes it, `today`, `tomorrow`, `yesterday`, the next
 * day of that name (`fri`), or a distance from now (`+3d`, `-2w`, `+4h`). Returns undefined for anything else. Days are
 * those of the user's calendar, and begin at midnight UTC as every date without a time does.
 */
export function parseInstant(text: string, now = new Date()): string | undefined {
  const word = text.trim().toLowerCase()
  const inDays = (count: number): string => {
    const date = new Date(now.getFullYear(), now.getMonth(), now.getDate() + count)
    return new Date(Date.UTC(date.getFullYear(), date.getMonth(), date.getDate())).toISOString()
  }
  const near = ['yesterday', 'today', 'tomorrow'].indexOf(word)
  if (near >= 0) return inDays(near - 1)
  const weekday = word.length < 3 ? -1 : days.findIndex((name) => name.startsWith(word))
  if (weekday >= 0) return inDays(((weekday - now.getDay() + 6) % 7) + 1)
  const [, sign, count, unit] = /^([+-])(\d{1,4})([hdw])$/.exec(word) ?? []
  if (unit) {
    const many = Number(count) * (sign === '-' ? -1 : 1)
    return unit === 'h'
      ? new Date(now.getTime() + many * HOUR_MS).toISOString()
      : inDays(unit === 'w' ? many * 7 : many)
  }
  return isTime(text) ? new Date(text).toISOString() : undefined
}

/** Stricter than JavaScript, for which `10` is October 2001 and 30 February is 2 March. */
function isTime(text: string): boolean {
  const date = /^(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/i.exec(text)?.[1]
  return date !== undefined && !Number.isNaN(Date.parse(text)) && new Date(date).toISOString().startsWith(date)
}

/** Returns the number of days in `90d`, `12w`, `1y` or `90`; undefined for anything else. */
export function parseDays(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,4})([dwy]?)$/i.exec(text.trim()) ?? []
  if (count === undefined) return undefined
  return Number(count) * (unit === 'y' ? 365 : unit === 'w' ? 7 : 1)
}

const units = { s: 1000, m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS } as const

/** Returns the length of `30s`, `10m`, `2h`, `1d` or `30` (seconds); undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = 's'] = /^(\d{1,6})([smhd]?)$/i.exec(text.trim()) ?? []
  if (count === undefined) return undefined
  const ms = Number(count) * units[(unit.toLowerCase() || 's') as keyof typeof units]
  // Longer timers fire at once.
  return ms > 0 && ms < 2 ** 31 ? ms : undefined
}
