import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { excerptOf } from '../../text/text.ts'
import type { MailMessage } from '../mail/message.ts'
import type { SubjectColumns } from './subjects.ts'

/** A notification that a mail tells about. */
export interface MailedNotification extends Pick<SubjectColumns, 'recordKind' | 'recordId'> {
  id: string
  title: string
  message: string | null
  link: string | null
}

const MOST_ITEMS = 50

/** Returns the content of a mail about one notification, or about several, grouped by project. */
export async function contentOf(
  ctx: Ctx,
  items: readonly MailedNotification[],
  daily: boolean,
): Promise<Omit<MailMessage, 'to' | 'expiresAt'>> {
  const { url } = ctx.app
  const notes = [
    `You receive this mail because of your settings. To change them or to turn off such mails, open ${url}/settings/notifications`,
  ]
  const [only] = items
  if (only && items.length === 1 && !daily)
    return {
      kind: 'notification',
      subject: only.title,
      lines: [only.title, ...(only.message ?? '').split(/\n+/).filter(Boolean)],
      button: { label: 'Open', url: pageOf(ctx, only) },
      notes,
    }
  const more = items.length - MOST_ITEMS
  return {
    kind: daily ? 'daily' : 'notification',
    subject: items.length === 1 ? (only?.title ?? '') : `${items.length} unread notifications`,
    lines: [daily ? 'This is still unread in Tutti:' : 'This happened in Tutti:'],
    sections: await sectionsOf(ctx, items.slice(0, MOST_ITEMS)),
    button: { label: more > 0 ? `Open the inbox: ${more} more` : 'Open the inbox', url: `${url}/inbox` },
    notes,
  }
}

const pageOf = ({ app }: Ctx, { link }: MailedNotification): string =>
  (link && URL.parse(link, app.url)?.href) || `${app.url}/inbox`

async function sectionsOf(ctx: Ctx, items: readonly MailedNotification[]) {
  const projects = await projectNames(ctx, items)
  const nameOf = ({ recordId }: MailedNotification) =>
    (recordId === null ? undefined : projects.get(recordId)) ?? 'Other'
  const groups = [...Map.groupBy(items, nameOf)].sort(
    ([a], [b]) => Number(a === 'Other') - Number(b === 'Other') || a.localeCompare(b),
  )
  return groups.map(([title, list]) => ({
    title,
    items: list.map((item) => ({
      text: item.title,
      ...(item.message !== null && { detail: excerptOf(item.message) }),
      url: pageOf(ctx, item),
    })),
  }))
}

/** Returns the names of the projects of records, by the id of the record. */
async function projectNames(ctx: Ctx, items: readonly MailedNotification[]): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  const project = ctx.app.records.get('project')
  for (const [kind, list] of Map.groupBy(items, ({ recordKind }) => recordKind)) {
    if (kind === null || kind === 'invite') continue
    const { table, projectId = table.projectId } = ctx.app.records.get(kind)
    const column = kind === 'project' ? table.id : projectId
    if (!column) continue
    const ids = idList([...new Set(list.flatMap(({ recordId }) => recordId ?? []))])
    const { rows } = await ctx.db.execute<{ id: string; name: string }>(sql`
      select own.id, ${project.title} as name from ${project.table}
      join (select ${table.id} as id, ${column} as project_id from ${table} where ${anyOf(table.id, ids)}) own
        on own.project_id = ${project.table.id}`)
    for (const { id, name } of rows) names.set(id, name)
  }
  return names
}
