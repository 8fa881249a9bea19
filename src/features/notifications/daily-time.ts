import type { Weekday } from '../users/notification-rules.ts'

const DAY = 86_400_000

/** Formatters are slow to create, and most people share a few time zones. */
const formats = new Map<string, Intl.DateTimeFormat>()
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const parts = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const
  const made = new Intl.DateTimeFormat('en-US', { ...parts, second: '2-digit', hourCycle: 'h23', timeZone })
  formats.set(timeZone, made)
  return made
}

/** Returns what the clocks of the zone show at this moment, as if that were UTC. */
function wallClock(moment: number, zone: string): number {
  const { year, month, day, hour, minute, second } = Object.fromEntries(
    formatOf(zone)
      .formatToParts(moment)
      .map(({ type, value }) => [type, Number(value)]),
  ) as Record<string, number>
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second)
}

/** Returns the moment at which the clocks of the zone show this. A time that the clocks skip comes an hour later. */
function momentOf(shown: number, zone: string): number {
  const offsetAt = (moment: number) => wallClock(moment, zone) - moment
  return shown - offsetAt(shown - offsetAt(shown))
}

const weekdayOf = (shown: number) =>
  (['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const)[new Date(shown).getUTCDay()]

/**
 * Returns when the last daily mail was due, at or before `now`. Everything older than that moment belongs in it. So
 * after downtime there is one mail, and none is sent twice when clocks change.
 */
export function lastDailyTime(
  now: string,
  { at, days }: { at: string; days: readonly Weekday[] },
  zone: string,
): string {
  const [hours = 0, minutes = 0] = at.split(':').map(Number)
  const end = Date.parse(now)
  const today = Math.floor(wallClock(end, zone) / DAY) * DAY
  for (let back = 0; back <= 8; back++) {
    const shown = today - back * DAY + (hours * 60 + minutes) * 60_000
    const moment = momentOf(shown, zone)
    if (moment <= end && days.includes(weekdayOf(shown) as Weekday)) return new Date(moment).toISOString()
  }
  return new Date(0).toISOString()
}
