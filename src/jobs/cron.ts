const FIELDS = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12 },
  { name: 'day of week', from: 0, to: 7 },
]
const DAY = 86_400_000

/** The first moment after another at which a five-field cron expression is due, in UTC. Numbers, `*`, lists, ranges and steps; no names. */
export function parseCron(expression: string): (after: Date) => Date {
  const parts = expression.trim().split(/\s+/)
  if (parts.length !== 5) throw new Error(`cron "${expression}": expected five fields`)
  const [minutes, hours, days, months, weekdays] = parts.map((part, i) => parseField(part, FIELDS[i]!, expression)) as [
    Set,
    Set,
    Set,
    Set,
    Set,
  ]
  if (weekdays.has(7)) weekdays.add(0)
  // As in every cron: with both days restricted, either one is enough.
  const either = !parts[2]!.startsWith('*') && !parts[4]!.startsWith('*')
  const onDay = (d: Date) => {
    const day = days.has(d.getUTCDate())
    const weekday = weekdays.has(d.getUTCDay())
    return months.has(d.getUTCMonth() + 1) && (either ? day || weekday : day && weekday)
  }
  const next = (after: Date): Date => {
    const today = Math.floor(after.getTime() / DAY) * DAY
    // Nine years: the longest wait is for a 29th of February around a century that is no leap year.
    for (let start = today; start < today + 9 * 366 * DAY; start += DAY) {
      if (!onDay(new Date(start))) continue
      for (const hour of hours)
        for (const minute of minutes) {
          const at = start + hour * 3_600_000 + minute * 60_000
          if (at > after.getTime()) return new Date(at)
        }
    }
    throw new Error(`cron "${expression}" never comes`)
  }
  next(new Date())
  return next
}

type Set = globalThis.Set<number>

function parseField(text: string, field: (typeof FIELDS)[number], expression: string): Set {
  const values: number[] = []
  for (const part of text.split(',')) {
    const [, all, low, high, step] = /^(?:(\*)|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(part) ?? []
    const from = all ? field.from : Number(low)
    const to = all || (step && high === undefined) ? field.to : Number(high ?? low)
    const by = Number(step ?? 1)
    if (!(from >= field.from && to <= field.to && from <= to && by > 0))
      throw new Error(`cron "${expression}": bad ${field.name} "${part}"`)
    for (let value = from; value <= to; value += by) values.push(value)
  }
  return new globalThis.Set(values.sort((a, b) => a - b))
}
