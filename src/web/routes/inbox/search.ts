import type { View } from '../../../features/notifications/schema.ts'

/** What the address says: which view, and which notification is open. */
interface InboxSearch {
  /** Default: what needs the reader. */
  view?: Exclude<View, 'needs'>
  open?: string
}

export const inboxSearch = ({ view, open }: Record<string, unknown>): InboxSearch => ({
  ...((view === 'unread' || view === 'all') && { view }),
  ...(typeof open === 'string' && { open }),
})
