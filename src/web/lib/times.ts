/** Times as people read them, in the browser's language and time zone. */
import type { TimesInText } from '../../schema.ts'
import { once } from './once.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A format is made once: that takes longer than using it. */
const dates = (options: Intl.DateTimeFormatOptions) => {
  const format = once(() => new Intl.DateTimeFormat(undefined, options))
  return (instant: string | number): string => format().format(new Date(instant))
}

/** A number of minutes: "16 min". */
export const minutes = (n: number): string => `${Math.round(n)} min`

const JUST_NOW = 'just now'

/** How long ago, in one unit: "just now", "20 s", "3 min", "2 h", "5 d". */
export function ago(instant: string, now = Date.now()): string {
  const passed = Math.max(0, now - Date.parse(instant))
  if (passed < 10 * SECOND) return JUST_NOW
  if (passed < MINUTE) return `${Math.floor(passed / SECOND)} s`
  if (passed < HOUR) return minutes(Math.floor(passed / MINUTE))
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h`
  return `${Math.floor(passed / DAY)} d`
}

/** The result of `ago` in a sentence: "3 min ago", "just now". */
export const agoLabel = (time: string): string => (time === JUST_NOW ? time : `${time} ago`)

/** How long something has lasted: "a few seconds", "3 min". */
export const lastingSince = (instant: string): string => {
  const time = ago(instant)
  return time === JUST_NOW ? 'a few seconds' : time
}

/** The last call of a worker is known to within 20 seconds, so it is not shown more exactly. */
export const lastCallLabel = (instant: string, now = Date.now()): string =>
  now - Date.parse(instant) < 20 * SECOND ? JUST_NOW : ago(instant, now)

export const minutesUntil = (instant: string, now = Date.now()): number =>
  Math.max(0, Math.ceil((Date.parse(instant) - now) / MINUTE))

/** The part of a lease that is left, from 1 to 0. */
export const shareLeft = (since: string, until: string, now = Date.now()): number => {
  const whole = Date.parse(until) - Date.parse(since)
  return whole <= 0 ? 0 : Math.min(1, Math.max(0, (Date.parse(until) - now) / whole))
}

export const day = dates({ day: 'numeric', month: 'short' })
export const dayAndTime = dates({ dateStyle: 'medium', timeStyle: 'short' })

/** Returns a text with its times written as the reader's clock does. */
export const localizeTimes = (text: string, times: TimesInText = []): string =>
  times.reduce((before, time) => before.replace(time.text, dayAndTime(time.at)), text)

/** The day of an instant where the reader is: `2026-11-30`. */
export function localDay(instant: string | number): string {
  const at = new Date(instant)
  return new Date(Date.UTC(at.getFullYear(), at.getMonth(), at.getDate())).toISOString().slice(0, 10)
}

/** The day on which something is due. A date without a time is stored as midnight UTC, and is that day everywhere. */
export const dueDay = (instant: string): string => {
  const at = new Date(instant).toISOString()
  return at.endsWith('T00:00:00.000Z') ? at.slice(0, 10) : localDay(instant)
}

const utcDay = dates({ day: 'numeric', month: 'short', timeZone: 'UTC' })

/** A due date and how urgent it is. */
export function dueLabel(instant: string, now = Date.now()): { text: string; urgency: '' | 'soon' | 'over' } {
  const due = dueDay(instant)
  const days = (Date.parse(due) - Date.parse(localDay(now))) / DAY
  if (days === 0) return { text: 'today', urgency: 'soon' }
  if (days === 1) return { text: 'tomorrow', urgency: 'soon' }
  return { text: utcDay(due), urgency: days < 0 ? 'over' : days < 3 ? 'soon' : '' }
}

/** With seconds: "16:12:08". */
export const timeOfDay = dates({ timeStyle: 'medium' })

export const isOlderThan = (instant: string, days: number, now = Date.now()): boolean =>
  now - Date.parse(instant) > days * DAY

/** Hours and minutes. */
export const clockTime = dates({ hour: 'numeric', minute: '2-digit' })
