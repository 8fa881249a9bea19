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
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'

const type = oneOf(['info', 'success', 'warning', 'error'])
const heading = title(200, { example: 'Maintenance on Sunday' })
const message = text(2000, { example: 'The server restarts at 06:00 UTC.' })
/** The pattern excludes `//other.host` and `javascript:`: a link must not lead where its reader does not expect. */
const link = text(2000, {
  pattern: '^(/([^/\\\\\\s]\\S*)?|https?://\\S+)$',
  example: '/manual/start',
  description: 'A path of this instance, or an http(s) address',
})

export const Notification = object({
  ...recordFields,
  type,
  reason: text(40, { example: 'admin', description: 'Why it was sent: invite, security, admin, assignment …' }),
  title: heading,
  message: nullable(message),
  link: nullable(text(2000, { example: '/manual/start' })),
  readAt: nullable(instant()),
})
export type Notification = Static<typeof Notification>

export const NotificationQuery = object({
  ...paging('createdAt'),
  unread: optional(bool({ description: 'true: only unread ones; false: only read ones' })),
})
export type NotificationQuery = Static<typeof NotificationQuery>
export const NotificationPage = pageOf(Notification)
export type NotificationPage = Static<typeof NotificationPage>

export const UnreadCount = object({ unread: int({ example: 3 }) })
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
