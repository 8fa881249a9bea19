import { eq, isNull, or, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, flow, read, write } from '../../action.ts'
import { countAttempt, networkOf } from '../../auth/limits.ts'
import { minutesAfter } from '../../auth/one-time-secrets.ts'
import { admin, anyone } from '../../auth/policy.ts'
import { contains } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { visibleText } from '../../text/text.ts'
import { oneLine } from '../mail/message.ts'
import { queueMail } from '../mail/service.ts'
import { requireSitePart, settingsOf } from '../settings/values.ts'
import { messageDeleted, messageReceived, messageUpdated } from './events.ts'
import type {
  ContactMessage,
  ContactPage,
  ContactPatch,
  ContactQuery,
  ContactReceived,
  ContactSend,
  ContactToken,
} from './schema.ts'
import { newFormToken, spamReason, textHashOf } from './spam.ts'
import { contactMessages } from './table.ts'

/** Messages of one network, and of all, in an hour. */
const OF_NETWORK = 3
const OF_ALL = 60
const HOUR = 3600
const MAIL_MINUTES = 7 * 24 * 60

const contactColumns = {
  id: contactMessages.id,
  createdAt: contactMessages.createdAt,
  updatedAt: contactMessages.updatedAt,
  version: contactMessages.version,
  name: contactMessages.name,
  email: contactMessages.email,
  subject: contactMessages.subject,
  message: contactMessages.message,
  readAt: contactMessages.readAt,
  spam: contactMessages.spam,
  reason: contactMessages.reason,
}

export const token = read('contact.token', anyone, async (ctx, _: Record<string, never>): Promise<ContactToken> => {
  await requireSitePart(ctx, 'contact')
  return { token: newFormToken(ctx) }
})

/** Stores a message. The demo uses it too. */
export const storeContactMessage = write(
  'contact.store',
  anyone,
  async (ctx, { reason, ...input }: ContactSend & { reason?: string }): Promise<ContactReceived> => {
    const line = (text: string | undefined, most: number) => (text ? oneLine(visibleText(text), most) || null : null)
    const message = visibleText(input.message)
    const row = { name: line(input.name, 100), email: input.email, subject: line(input.subject, 200), message }
    const [made] = await ctx.db
      .insert(contactMessages)
      .values({
        ...row,
        spam: reason !== undefined,
        reason: reason ?? null,
        textHash: textHashOf(input.message),
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .returning({ id: contactMessages.id })
    ctx.emit(messageReceived, { subjectId: made?.id, data: { spam: reason !== undefined } })
    if (reason === undefined) await mailMessage(ctx, row)
    return { received: true }
  },
)

/** Mails the message to the addresses in the settings, as plain text. */
async function mailMessage(
  ctx: Ctx,
  row: Pick<ContactMessage, 'name' | 'email' | 'subject' | 'message'>,
): Promise<void> {
  const { notify } = (await settingsOf(ctx)).contact
  const { message: written } = row
  for (const to of notify)
    await queueMail(ctx, {
      to,
      kind: 'contact',
      subject: `Message from a visitor: ${row.subject ?? '(no subject)'}`,
      lines: [
        `${row.name ?? 'A visitor'} (${row.email}) wrote:`,
        ...written.split(/\n+/).flatMap((text) => (text.trim() ? [`> ${text}`] : [])),
      ],
      notes: [`Read all messages at ${ctx.app.url}/admin/contact`],
      expiresAt: minutesAfter(ctx.now, MAIL_MINUTES),
    })
}

/** Receives a message of a visitor. Spam is stored too and gets the same response, so that senders learn nothing. */
export const send = flow('contact.send', anyone, async (ctx, input: ContactSend): Promise<ContactReceived> => {
  await requireSitePart(ctx, 'contact')
  const { driver, clock } = ctx.app
  await countAttempt(driver, `contact:${networkOf(ctx.ip)}`, OF_NETWORK, HOUR, clock(), 'messages')
  await countAttempt(driver, 'contact', OF_ALL, HOUR, clock(), 'messages')
  return storeContactMessage(ctx, { ...input, reason: await spamReason(ctx, input) })
})

// ---- for administrators

async function findContactMessage(ctx: Ctx, id: string): Promise<ContactMessage> {
  const [found] = await ctx.db
    .select(contactColumns)
    .from(contactMessages)
    .where(and(eq(contactMessages.id, id), isNull(contactMessages.deletedAt)))
  if (!found) throw notFound('contact_message', id)
  return found
}

export const list = read('contact.list', admin, async (ctx, query: ContactQuery): Promise<ContactPage> => {
  const page = keyset({ createdAt: contactMessages.createdAt }, contactMessages.id, query, { sort: 'createdAt' })
  const { search, spam, unread } = query
  const filters = and(
    isNull(contactMessages.deletedAt),
    spam === undefined ? undefined : eq(contactMessages.spam, spam),
    unread === undefined ? undefined : sql`(${contactMessages.readAt} is null) = ${unread}`,
    search
      ? or(
          contains(contactMessages.message, search),
          contains(contactMessages.email, search),
          contains(contactMessages.subject, search),
        )
      : undefined,
  )
  const rows = await ctx.db
    .select(contactColumns)
    .from(contactMessages)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(rows, query.total ? await ctx.db.$count(contactMessages, filters) : undefined)
})

export const update = write(
  'contact.update',
  admin,
  async (ctx, { id, ...patch }: ContactPatch & { id: string }): Promise<ContactMessage> => {
    const before = await findContactMessage(ctx, id)
    checkVersion(ctx, before)
    const after = await updateVersioned(ctx, contactMessages, {
      columns: contactColumns,
      before,
      set: { ...patch, ...(patch.spam === false && { reason: null }) },
      what: 'this message',
      again: () => findContactMessage(ctx, id),
    })
    ctx.emit(messageUpdated, { subjectId: id, data: { fields: Object.keys(patch) } })
    return after
  },
  { versioned: true },
)

export const remove = write(
  'contact.remove',
  admin,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    checkVersion(ctx, await findContactMessage(ctx, id))
    await ctx.db
      .update(contactMessages)
      .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${contactMessages.version} + 1` })
      .where(eq(contactMessages.id, id))
    ctx.emit(messageDeleted, { subjectId: id })
    return { id, deleted: true }
  },
  { versioned: true, destructive: true },
)
