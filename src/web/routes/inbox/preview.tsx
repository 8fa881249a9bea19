/** A preview of the record of a notification, with the actions that the reader can take in the inbox. */
import { Link } from '@tanstack/react-router'
import { ArrowLeft, Check } from 'lucide-react'
import type { Notification, NotificationPatch } from '../../../features/notifications/schema.ts'
import type { Status } from '../../../records/task-states.ts'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import { Kbd } from '../../components/status-bar.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { dayAndTime } from '../../lib/times.ts'
import { statusNames } from '../../words.ts'
import { DecisionPreview } from './decision.tsx'
import { FeaturePreview } from './feature.tsx'
import { PreviewHeading } from './heading.tsx'
import { InvitePreview } from './invite.tsx'
import { TaskPreview } from './task.tsx'
import { words } from './words.ts'
import { WorkspaceInvitePreview } from './workspace-invite.tsx'

interface Props {
  notification: Notification
  onDone(): void
  onMark(patch: NotificationPatch): void
  onSnooze(until: { at: string; text: string }): void
  onBack(): void
  /** The reader did what it asks for, so that it is done. */
  onSettled(): void
}

export function NotificationPreview(props: Props) {
  const { notification: one, onBack } = props
  const { subject } = one
  return (
    <article className="inp" aria-label={one.title}>
      <header className="row">
        <button type="button" className="ib back" aria-label={words.back} onClick={onBack}>
          <ArrowLeft className="i" aria-hidden />
        </button>
        {subject?.key && <span className="soft t13">{subject.key}</span>}
        <State status={subject?.status} />
        <Acts {...props} />
      </header>
      <Content notification={one} onSettled={props.onSettled} />
    </article>
  )
}

const isStatus = (status: string): status is Status => status in statusNames

function State({ status }: { status: string | null | undefined }) {
  if (!status) return null
  if (!isStatus(status)) return <span className="t13 cut">{status.replaceAll('_', ' ')}</span>
  return (
    <span className="row tight t13 nowrap">
      <StatusGlyph status={status} />
      {statusNames[status]}
    </span>
  )
}

function Acts({ notification: one, onDone, onMark, onSnooze }: Props) {
  const snooze = (
    <button type="button" className="btn quiet small">
      {words.snooze}
    </button>
  )
  return (
    <span className="end row tight">
      <button type="button" className="btn quiet small" onClick={onDone}>
        <Check className="i s14" aria-hidden />
        {one.done ? words.notDone : words.done} <Kbd>e</Kbd>
      </button>
      <button type="button" className="btn quiet small hp" onClick={() => onMark({ read: one.readAt === null })}>
        {one.readAt ? words.markUnread : words.markRead} <Kbd>u</Kbd>
      </button>
      {!one.done && (
        <LazyMenu
          trigger={snooze}
          entries={times.map(({ value }) => ({ value, label: words.until[value] }))}
          onChoose={(chosen) => {
            const at = times.find(({ value }) => value === chosen)?.at(new Date())
            if (at) onSnooze({ at: at.toISOString(), text: dayAndTime(at.toISOString()) })
          }}
        />
      )}
      <OpenLink notification={one} />
    </span>
  )
}

/** At nine in the morning, some days on. */
const morning = (now: Date, days: number): Date => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, 9)
const times = [
  { value: 'hour', at: (now: Date) => new Date(now.getTime() + 3_600_000) },
  { value: 'tomorrow', at: (now: Date) => morning(now, 1) },
  { value: 'week', at: (now: Date) => morning(now, (8 - now.getDay()) % 7 || 7) },
] as const

/** The page of what it is about, in its own team; else the address that came with it. */
function OpenLink({ notification: { subject, link } }: { notification: Notification }) {
  const label = (
    <>
      {words.open} <Kbd>↵</Kbd>
    </>
  )
  if (subject && subject.kind !== 'invite')
    return (
      <Link
        className="btn quiet small opens"
        to={subject.path as string}
        search={subject.team ? { team: subject.team } : {}}
      >
        {label}
      </Link>
    )
  if (!link || link === '/inbox') return null
  return (
    <a className="btn quiet small opens" href={link}>
      {label}
    </a>
  )
}

function Content({ notification: one, onSettled }: Pick<Props, 'notification' | 'onSettled'>) {
  const { subject } = one
  if (subject?.kind === 'task') return <TaskPreview notification={one} id={subject.id} onSettled={onSettled} />
  if (subject?.kind === 'feature') return <FeaturePreview notification={one} id={subject.id} onSettled={onSettled} />
  if (subject?.kind === 'decision') return <DecisionPreview notification={one} id={subject.id} onSettled={onSettled} />
  if (subject?.kind === 'workspace_invite')
    return <WorkspaceInvitePreview notification={one} id={subject.id} onSettled={onSettled} />
  if (subject?.kind === 'invite') return <InvitePreview notification={one} invite={subject} onSettled={onSettled} />
  return (
    <div className="inbody stack s4">
      <PreviewHeading notification={one} />
      {one.message && <Markdown text={one.message} />}
    </div>
  )
}
