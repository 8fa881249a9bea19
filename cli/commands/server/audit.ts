import { auditCommand } from '../../../src/features/admin/control.ts'
import { runControlCommand } from '../../operating/control.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { dim, printNote, printResult, safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'

interface Options extends CommonOptions {
  json?: boolean
  person?: string
  type?: string
  day?: string
  limit: string
}

const MOST = 200

/** Prints the audit log as sentences. The newest entry comes last, next to the prompt. */
export async function showAudit({ json, person, type, day, limit, ...common }: Options): Promise<void> {
  const most = Number(limit)
  if (!Number.isInteger(most) || most < 1 || most > MOST) throw new Refusal(`--limit must be from 1 to ${MOST}.`)
  const page = await runControlCommand(loadSettings(common), auditCommand, {
    limit: most,
    ...(person && { person }),
    ...(type && { type }),
    ...(day && daySpan(day)),
  })
  printResult(
    json,
    page,
    ...page.items.toReversed().map(({ at, sentence }) => `${dim(localTime(at))}  ${safeLine(sentence)}`),
  )
  if (json) return
  if (page.items.length === 0) printNote('No entries.')
  if (page.nextCursor) printNote(`Only the newest ${most} are shown. To see more, add --limit or a filter.`)
}

/** Returns a day of this computer's time zone: 2026-11-18. */
function daySpan(day: string): { since: string; until: string } {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day) ?? []
  if (!year) throw new Refusal('--day must be a date such as 2026-11-18.')
  const start = (more: number) => new Date(Number(year), Number(month) - 1, Number(date) + more).toISOString()
  return { since: start(0), until: start(1) }
}

const two = (n: number): string => String(n).padStart(2, '0')
function localTime(at: string): string {
  const time = new Date(at)
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-')
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`
}
