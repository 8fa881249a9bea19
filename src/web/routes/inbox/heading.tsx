import type { Notification } from '../../../features/notifications/schema.ts'
import { dayAndTime } from '../../lib/times.ts'
import { ReasonFlag } from './row.tsx'

/** The title of the record, or of the notification itself, and why it is here. */
export function PreviewHeading({ notification: one, title }: { notification: Notification; title?: string }) {
  return (
    <div className="stack s1">
      <h2 className="h1">{title ?? one.title}</h2>
      <p className="soft row wrap t13">
        {title && <span>{one.title}</span>}
        <ReasonFlag reason={one.reason} />
        <time dateTime={one.createdAt}>{dayAndTime(one.createdAt)}</time>
      </p>
    </div>
  )
}
