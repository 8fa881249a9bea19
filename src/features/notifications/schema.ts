import { UserOrAgent } from '../../records/user-or-agent.ts'
import {
  array,
  bool,
  id,
  instant,
  int,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  partial,
  recordFields,
  type Static,
  text,
  time,
  title,
} from '../../schema.ts'

const type = oneOf(['info', 'success', 'warning', 'error'])
const heading = title(200, { example: 'Maintenance on Sunday' })
const message = text(2000, { example: 'The server restarts at 06:00 UTC.' })
/** The pattern excludes `//other.host` and `javascript:`: a link must not lead where its reader does not expect. */
const link = text(2000, {
  pattern: '^(/([^/\\\\\\s]\\S*)?|https?://\\S+)$',
  example: '/manual/start',
  description: 'A path on this server, or an http(s) address',
})

/** The record that a notification is about, as its reader sees it now. */
export const Subject = object({
  kind: text(40, { example: 'task', description: 'A kind of record, or `invite`' }),
  id: id(),
  key: nullable(text(100, { example: 'TUT-42', description: 'The key or slug, where the kind has one' })),
  title: text(1000, { example: 'Lock the data folder' }),
  status: nullable(text(40, { example: 'in_review' })),
  path: text(400, { example: '/tasks/TUT-42', description: 'Its path below `/api`, and its page in the dashboard' }),
  team: nullable(text(63, { example: 'engines', description: 'The slug of its team' })),
})
export type Subject = Static<typeof Subject>

export const Notification = object({
  ...recordFields,
  type,
  reason: text(40, {
    example: 'review',
    description:
      'Why it was sent. review, assignment, mention, question, stalled, decision, invite and needs_you require an ' +
      'action from you; others (security, admin, freed, sync, issue …) only inform',
  }),
  subject: nullable(Subject),
  from: nullable(UserOrAgent),
  title: heading,
  message: nullable(message),
  link: nullable(text(2000, { example: '/manual/start' })),
  readAt: nullable(instant()),
  done: bool({ description: 'You marked it as done, or its request was completed elsewhere' }),
  snoozedUntil: nullable(instant()),
})
export type Notification = Static<typeof Notification>

export const NotificationPatch = partial(
  object({
    read: bool(),
    done: bool({ description: 'true also marks it as read' }),
    snoozedUntil: nullable(time({ description: 'Hidden from the view `needs` until then; null: no longer snoozed' })),
  }),
)
export type NotificationPatch = Static<typeof NotificationPatch>

const views = ['needs', 'unread', 'all'] as const
export type View = (typeof views)[number]

export const NotificationQuery = object({
  ...paging('createdAt'),
  view: optional(
    oneOf(views, { description: 'needs: require an action from you, not done and not snoozed. Default: all' }),
  ),
  unread: optional(bool({ description: 'true: only unread ones; false: only read ones' })),
})
export type NotificationQuery = Static<typeof NotificationQuery>
export const NotificationPage = pageOf(Notification)
export type NotificationPage = Static<typeof NotificationPage>

/** How many each view lists. */
export const NotificationCount = object({
  needs: int({ example: 2 }),
  unread: int({ example: 3 }),
  all: int({ example: 40 }),
})
export type NotificationCount = Static<typeof NotificationCount>
export const DailyMailed = object({
  unread: int({ example: 3, description: 'How many notifications the mail lists; 0: no mail is sent' }),
})
export const ReadAll = object({ read: int({ example: 3 }) })

// ---- what administrators send

/** Recipients. Default: all users. */
export const Audience = object(
  {
    userIds: optional(array(id(), 1000, { uniqueItems: true })),
    organizationId: optional(id({ description: 'All members of this team' })),
  },
  { description: 'Either userIds or organizationId. Default: all users', examples: [{}] },
)
export type Audience = Static<typeof Audience>

const content = { title: heading, message: optional(message), type: optional(type), link: optional(link) }
export const NotificationContent = object(content)
export type NotificationContent = Static<typeof NotificationContent>

export const NotificationSend = object({ ...content, audience: optional(Audience) })
export type NotificationSend = Static<typeof NotificationSend>

export const Announcement = object({
  id: id(),
  createdAt: instant(),
  sentBy: nullable(object({ id: id(), name: text(100, { example: 'Ada Lovelace' }) })),
  type,
  title: heading,
  message: nullable(message),
  link: nullable(link),
  audience: Audience,
  recipients: int({
    example: 12,
    description: 'Number of users notified so far; a job notifies large audiences in batches',
  }),
})
export type Announcement = Static<typeof Announcement>

export const AnnouncementQuery = object(paging('createdAt'))
export type AnnouncementQuery = Static<typeof AnnouncementQuery>
export const AnnouncementPage = pageOf(Announcement)
export type AnnouncementPage = Static<typeof AnnouncementPage>

export const Seeded = object({ created: int({ example: 4 }) })
