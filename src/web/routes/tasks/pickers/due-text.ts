/**
 * Due dates as people type them: `fri`, `3d`, `30 nov`, `none`. A day is a text (`2026-11-30`), so that
 * no clock change moves it.
 */

const DAY_MS = 86_400_000
const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const months = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]
/** The longest time from one 29 February to the next is eight years. */
const MOST_YEARS = 8
const MOST_AHEAD = 3650

/**
 * Returns the day that a text means, null for none, or undefined if it means nothing. A weekday is the next one after
 * today, and a date without a year is the next one from today on.
 */
export function parseDue(text: string, today: string): string | null | undefined {
  const typed = text.trim().toLowerCase().replace(/[,.]/g, ' ').replace(/\s+/g, ' ').trim()
  if (typed === '') return undefined
  if (['none', 'no', '-', 'clear', 'never'].includes(typed)) return null
  if (begins('today', typed, 3)) return today
  if (begins('tomorrow', typed, 3)) return addDays(today, 1)
  if (typed === 'next week') return nextWeekday(today, 1)
  if (typed === 'next month') return addMonths(today, 1)
  return parseDistance(typed, today) ?? parseWeekday(typed, today) ?? parseIsoDay(typed) ?? parseMonthDay(typed, today)
}

/** Whether the text is the beginning of the word, with at least so many letters. */
const begins = (word: string, text: string, least: number): boolean => text.length >= least && word.startsWith(text)

/** `3d`, `+2w`, `in 3 days`. */
function parseDistance(typed: string, today: string): string | undefined {
  const [, digits, unit] = /^(?:in |\+ ?)?(\d{1,4}) ?(d|days?|w|weeks?|m|months?)$/.exec(typed) ?? []
  if (!digits || !unit) return undefined
  const n = Number(digits)
  const days = unit.startsWith('w') ? 7 * n : n
  if (days > MOST_AHEAD) return undefined
  return unit.startsWith('m') ? addMonths(today, n) : addDays(today, days)
}

function parseWeekday(typed: string, today: string): string | undefined {
  const place = weekdays.findIndex((name) => begins(name, typed, 2))
  return place < 0 ? undefined : nextWeekday(today, place)
}

function parseIsoDay(typed: string): string | undefined {
  const [, year, month, day] = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(typed) ?? []
  return year ? existingDay(Number(year), Number(month), Number(day)) : undefined
}

/** `30 nov`, `nov 30`, `30 november 2027`. */
function parseMonthDay(typed: string, today: string): string | undefined {
  const [, first, name, second, year] = /^(?:(\d{1,2}) ?)?([a-z]{3,9})(?: (\d{1,2}))?(?: (\d{4}))?$/.exec(typed) ?? []
  const month = months.findIndex((one) => name !== undefined && begins(one, name, 3)) + 1
  const day = Number(first ?? second)
  if (month === 0 || (first === undefined) === (second === undefined)) return undefined
  if (year) return existingDay(Number(year), month, day)
  const from = Number(today.slice(0, 4))
  return Array.from({ length: MOST_YEARS + 1 }, (_, place) => existingDay(from + place, month, day)).find(
    (found) => found !== undefined && found >= today,
  )
}

const nextWeekday = (today: string, weekday: number): string => {
  const ahead = (weekday - new Date(today).getUTCDay() + 7) % 7
  return addDays(today, ahead === 0 ? 7 : ahead)
}

export const addDays = (day: string, n: number): string => toDay(Date.parse(day) + n * DAY_MS)

/** The same day of a later month, or its last day if the month is shorter. */
function addMonths(day: string, n: number): string {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number)
  const last = new Date(Date.UTC(year, month + n, 0)).getUTCDate()
  return toDay(Date.UTC(year, month - 1 + n, Math.min(date, last)))
}

/** The day, if the calendar has it. */
function existingDay(year: number, month: number, day: number): string | undefined {
  const found = toDay(Date.UTC(year, month - 1, day))
  return found === `${year}-${pad(month)}-${pad(day)}` ? found : undefined
}

const pad = (n: number): string => String(n).padStart(2, '0')
const toDay = (at: number): string => new Date(at).toISOString().slice(0, 10)
