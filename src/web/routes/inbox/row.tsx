import { Bell } from 'lucide-react'
import type { Notification } from '../../../features/notifications/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { ago, dayAndTime } from '../../lib/times.ts'
import { words } from './words.ts'

/** The colour of a reason says who it concerns: you, an agent, or a warning. The words say it too. */
const tones: Record<string, string> = {
  review: 'accent',
  assignment: 'accent',
  mention: 'accent',
  question: 'agent',
  stalled: 'warn',
  needs_you: 'warn',
  decision: 'info',
  invite: 'info',
}

export const ReasonFlag = ({ reason }: { reason: string }) => (
  <span className={`flag ${tones[reason] ?? ''}`}>{words.reasons[reason] ?? reason.replaceAll('_', ' ')}</span>
)

interface Props {
  notification: Notification
  current: boolean
  onShow(): void
}

export function NotificationRow({ notification: one, current, onShow }: Props) {
  const unread = one.readAt === null
  return (
    <li className={`nt${unread ? ' new' : ''}${one.done ? ' past' : ''}`} aria-current={current || undefined}>
      {one.from ? (
        <Avatar party={one.from} size="m" />
      ) : (
        <span className="av m sys">
          <Bell className="i s14" aria-hidden />
        </span>
      )}
      <div className="grow">
        <div className="row">
          <button type="button" className="ntb cut" onClick={onShow}>
            {unread && <span className="hide">{words.unreadDot}: </span>}
            <b>{one.title}</b>
          </button>
          <time className="end t12 soft nowrap" dateTime={one.createdAt} title={dayAndTime(one.createdAt)}>
            {ago(one.createdAt)}
          </time>
        </div>
        <p className="cut soft t13">{one.message ?? one.subject?.title ?? ''}</p>
        <p className="t12 why">
          <ReasonFlag reason={one.reason} />
        </p>
      </div>
    </li>
  )
}
