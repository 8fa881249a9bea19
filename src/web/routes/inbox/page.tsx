/** The inbox: the notifications, and beside them a preview of the record with its actions. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { CheckCheck } from 'lucide-react'
import { useEffect, useMemo, useRef } from 'react'
import type { Notification, View } from '../../../features/notifications/schema.ts'
import { inboxCountQuery } from '../../account/session.ts'
import { NewItemsPill, useStableOrder } from '../../components/list/stable-order.tsx'
import { AfterAMoment, EmptyState, ProblemBox, Skeleton } from '../../components/states.tsx'
import { Kbd, useStatusBarLeft } from '../../components/status-bar.tsx'
import { toast } from '../../components/toasts.tsx'
import { useCommands } from '../../shortcuts.ts'
import { words as common } from '../../words.ts'
import { NotificationPreview } from './preview.tsx'
import { inboxQuery, useMarkAllRead, useMarkNotification } from './queries.ts'
import { NotificationRow } from './row.tsx'
import { words } from './words.ts'

const views = ['needs', 'unread', 'all'] as const satisfies readonly View[]
const route = getRouteApi('/inside/inbox')

const keysHere = (
  <>
    <span className="row">
      <Kbd>j</Kbd>
      <Kbd>k</Kbd>
      {words.keys.move}
    </span>
    <span className="row">
      <Kbd>e</Kbd>
      {words.keys.done}
    </span>
    <span className="row">
      <Kbd>u</Kbd>
      {words.keys.unread}
    </span>
  </>
)

export function InboxPage() {
  const { view = 'needs', open } = route.useSearch()
  const navigate = route.useNavigate()
  const found = useInfiniteQuery(inboxQuery(view))
  const all = useMemo(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data])
  const { shown: items, waiting, showAll } = useStableOrder(all, view)
  const place = Math.max(
    0,
    items.findIndex(({ id }) => id === open),
  )
  const current = items[place]
  const act = useNotificationActions(view)
  const show = (one: Notification | undefined) => {
    if (one && view !== 'unread' && one.readAt === null) act.mark(one, { read: true })
    void navigate({ search: (before) => ({ ...before, open: one?.id }), replace: true })
  }
  const openNext = () => {
    const next = items[place + 1] ?? items[place - 1]
    void navigate({ search: (before) => ({ ...before, open: open && next?.id }), replace: true })
  }
  const finish = (one: Notification) => {
    act.finish(one)
    if (view !== 'all') openNext()
  }
  useStatusBarLeft(keysHere)
  useInboxKeys({ current, show, finish, act, next: items[place + 1], previous: items[place - 1] })
  return (
    <div className={open && current ? 'inb open' : 'inb'}>
      <h1 className="hide">{words.title}</h1>
      <section className="inl" aria-label={words.list}>
        <header className="viewbar">
          <Views view={view} />
          <ReadAll />
        </header>
        <NewItemsPill n={waiting} onShow={showAll}>
          {words.news(waiting)}
        </NewItemsPill>
        <List found={found} items={items} view={view} current={current} onShow={show} />
      </section>
      {current ? (
        <NotificationPreview
          key={current.id}
          notification={current}
          onDone={() => finish(current)}
          onMark={(patch) => act.mark(current, patch)}
          onSnooze={(until) => {
            act.snooze(current, until)
            if (view === 'needs') openNext()
          }}
          onBack={() => void navigate({ search: (before) => ({ ...before, open: undefined }), replace: true })}
          onSettled={openNext}
        />
      ) : (
        <div className="inp hp" />
      )}
    </div>
  )
}

/** The actions on a notification, each with an undo. */
function useNotificationActions(view: View) {
  const { mutate } = useMarkNotification(view)
  const refused = (error: Error) => toast({ title: error.message, bad: true })
  const mark = (notification: Notification, patch: Parameters<typeof mutate>[0]['patch']) =>
    mutate({ notification, patch }, { onError: refused })
  return {
    mark,
    finish: (one: Notification) => {
      if (one.done) return mark(one, { done: false })
      const undo = () => mark({ ...one, done: true }, { done: false, read: one.readAt !== null })
      mark(one, { done: true })
      toast({ title: words.isDone, text: one.title, action: { label: words.undo, run: undo } })
    },
    snooze: (one: Notification, { at, text }: { at: string; text: string }) => {
      const undo = () => mark({ ...one, snoozedUntil: at }, { snoozedUntil: null })
      mark(one, { snoozedUntil: at })
      toast({ title: words.snoozed(text), text: one.title, action: { label: words.undo, run: undo } })
    },
  }
}

interface Keys {
  current: Notification | undefined
  next: Notification | undefined
  previous: Notification | undefined
  show(one: Notification | undefined): void
  finish(one: Notification): void
  act: ReturnType<typeof useNotificationActions>
}

function useInboxKeys({ current, next, previous, show, finish, act }: Keys): void {
  useCommands([
    { keys: 'j', label: words.keys.next, scope: 'list', keysOnly: true, run: () => next && show(next) },
    { keys: 'k', label: words.keys.previous, scope: 'list', keysOnly: true, run: () => previous && show(previous) },
    ...(current
      ? [
          { keys: 'e', label: words.done, on: current.title, run: () => finish(current) },
          {
            keys: 'u',
            label: current.readAt ? words.markUnread : words.markRead,
            on: current.title,
            run: () => act.mark(current, { read: current.readAt === null }),
          },
          {
            keys: 'Enter',
            label: words.open,
            run: () => document.querySelector<HTMLElement>('.inp a.opens')?.click(),
          },
        ]
      : []),
  ])
}

function Views({ view }: { view: View }) {
  const counts = useQuery(inboxCountQuery).data
  return (
    <div className="seg" role="group" aria-label={words.view}>
      {views.map((name) => (
        <Link
          key={name}
          to="/inbox"
          search={(before) => ({ team: before.team, ...(name !== 'needs' && { view: name }) })}
          aria-current={name === view || undefined}
          activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }}
          activeProps={{}}
        >
          {words.views[name]} {name !== 'all' && counts ? counts[name] : ''}
        </Link>
      ))}
    </div>
  )
}

function ReadAll() {
  const unread = useQuery(inboxCountQuery).data?.unread ?? 0
  const { mutate, isPending } = useMarkAllRead()
  if (unread === 0) return null
  return (
    <button
      type="button"
      className="ib end"
      aria-label={words.readAll}
      title={words.readAll}
      disabled={isPending}
      onClick={() => mutate()}
    >
      <CheckCheck className="i" aria-hidden />
    </button>
  )
}

interface ListProps {
  found: { error: Error | null; isPending: boolean; hasNextPage: boolean; fetchNextPage(): unknown; refetch(): unknown }
  items: readonly Notification[]
  view: View
  current: Notification | undefined
  onShow(one: Notification): void
}

function List({ found, items, view, current, onShow }: ListProps) {
  const list = useRef<HTMLUListElement>(null)
  const chosen = current?.id
  useEffect(() => {
    if (chosen) list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  if (found.error && items.length === 0)
    return (
      <ProblemBox error={found.error}>
        <button type="button" className="btn small" onClick={() => void found.refetch()}>
          {common.tryAgain}
        </button>
      </ProblemBox>
    )
  if (found.isPending)
    return (
      <AfterAMoment>
        <div className="stack pad">
          <Skeleton />
          <Skeleton />
        </div>
      </AfterAMoment>
    )
  if (items.length === 0)
    return (
      <div className="inempty">
        <EmptyState title={words.empty[view]}>
          <p className="soft">{words.emptyText}</p>
          <code className="code">{words.command}</code>
        </EmptyState>
      </div>
    )
  return (
    <ul ref={list}>
      {items.map((one) => (
        <NotificationRow key={one.id} notification={one} current={one.id === current?.id} onShow={() => onShow(one)} />
      ))}
      {found.hasNextPage ? (
        <li className="inend">
          <button type="button" className="btn small" onClick={() => void found.fetchNextPage()}>
            {words.loadMore}
          </button>
        </li>
      ) : (
        view === 'needs' && <End shown={items.filter(({ readAt }) => readAt === null).length} />
      )}
    </ul>
  )
}

/** Says what is unread besides those listed. */
function End({ shown }: { shown: number }) {
  const unread = (useQuery(inboxCountQuery).data?.unread ?? 0) - shown
  return (
    <li className="inend">
      {words.end}{' '}
      {unread > 0 && (
        <Link className="link" to="/inbox" search={(before) => ({ team: before.team, view: 'unread' })}>
          {words.more(unread)}
        </Link>
      )}
    </li>
  )
}
