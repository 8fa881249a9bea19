/** The home page: notifications, the reader's tasks, claimed tasks and today's changes; at first the first steps. */
import { useInfiniteQuery, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { type ReactNode, useId } from 'react'
import type { Home } from '../../../features/home/schema.ts'
import { meQuery, projectsQuery } from '../../account/session.ts'
import { Avatar, LeaseRing, TimeMark } from '../../components/avatar.tsx'
import { FeedRow } from '../../components/feed-row.tsx'
import { PriorityGlyph, StatusGlyph } from '../../components/glyphs.tsx'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { ago, dueLabel, lastCallLabel, minutesUntil, shareLeft } from '../../lib/times.ts'
import { words as common, priorityNames, statusNames } from '../../words.ts'
import { inboxQuery } from '../inbox/queries.ts'
import { ReasonFlag } from '../inbox/row.tsx'
import { FocusedTaskKeys } from '../task/focused-task-keys.tsx'
import { homeQuery, showsSteps, stepsQuery } from './queries.ts'
import { FirstSteps } from './steps.tsx'
import { words } from './words.ts'

export function HomePage() {
  const { team, me } = useRouteContext({ from: '/inside' })
  const { data, error, refetch } = useQuery(homeQuery(team.id))
  const projects = useQuery(projectsQuery(team.id)).data
  const steps = useSteps(projects?.length)
  const [first = me.name] = me.name.split(' ')
  // A team without projects has nothing else to show.
  if (steps && projects?.length === 0)
    return (
      <div className="scroll">
        <div className="page hpage">
          <header>
            <h1 className="h1 big">{words.welcome(first)}</h1>
            <p className="soft">{words.firstText}</p>
          </header>
          <FirstSteps projects={[]} />
        </div>
      </div>
    )
  return (
    <div className="scroll">
      <div className="page wide stack s4">
        <h1 className="h1">{words.greeting(new Date().getHours(), first)}</h1>
        {steps && projects && <FirstSteps projects={projects.map(({ slug }) => slug)} />}
        {error && !data && (
          <ProblemBox error={error}>
            <button type="button" className="btn small" onClick={() => void refetch()}>
              {common.tryAgain}
            </button>
          </ProblemBox>
        )}
        <div className="cols-2">
          <div className="stack s5">
            <Needs />
            <Mine home={data} />
          </div>
          <div className="stack s5">
            <AtWork home={data} />
            <Today home={data} />
          </div>
        </div>
      </div>
    </div>
  )
}

/** Returns whether the page begins with the first steps. They are loaded only where they may be shown. */
function useSteps(projects: number | undefined): boolean {
  const choice = useSuspenseQuery(meQuery).data.preferences.firstSteps
  const { data } = useQuery({ ...stepsQuery, enabled: showsSteps(choice, projects, false) })
  const allDone = data?.steps.every(({ id, done }) => done || !id.startsWith('first_')) ?? false
  return data !== undefined && showsSteps(choice, projects, allDone && projects !== 0)
}

interface SheetProps {
  title: string
  more?: ReactNode
  children: ReactNode
}

function Sheet({ title, more, children }: SheetProps) {
  const id = useId()
  return (
    <section className="sheet pad" aria-labelledby={id}>
      <header className="row">
        <h2 className="h2" id={id}>
          {title}
        </h2>
        <span className="end t13">{more}</span>
      </header>
      {children}
    </section>
  )
}

function Needs() {
  const { data, error } = useInfiniteQuery(inboxQuery('needs'))
  const items = data?.pages[0]?.items
  return (
    <Sheet
      title={words.needs}
      more={
        <Link className="link" to="/inbox">
          {words.inbox}
        </Link>
      }
    >
      {error && !data && <ProblemBox error={error} />}
      {!items && !error && <Waiting />}
      {items?.length === 0 && <p className="soft t13">{words.nothingNeeds}</p>}
      {items && items.length > 0 && (
        <ul className="feed">
          {items.slice(0, 5).map((one) => (
            <li key={one.id}>
              {one.from ? <Avatar party={one.from} /> : <span />}
              <Link
                className="stack s1 quietlink"
                to="/inbox"
                search={(before) => ({ team: before.team, open: one.id })}
              >
                <span className="b5">{one.title}</span>
                <span className="t12 reason">
                  <ReasonFlag reason={one.reason} />
                </span>
              </Link>
              <time dateTime={one.createdAt}>{ago(one.createdAt)}</time>
            </li>
          ))}
        </ul>
      )}
    </Sheet>
  )
}

interface Part {
  home: Home | undefined
}

function Mine({ home }: Part) {
  return (
    <Sheet title={words.mine} more={home && home.mine.total > 10 && words.all(home.mine.total)}>
      {!home && <Waiting />}
      {home?.mine.items.length === 0 && (
        <div className="stack">
          <p className="soft t13">{words.nothingMine}</p>
          <code className="code">{words.take}</code>
        </div>
      )}
      <FocusedTaskKeys />
      <ul className="tl">
        {home?.mine.items.map((task) => (
          <li key={task.id}>
            <Link className="dep" to="/tasks/$key" params={{ key: task.key }}>
              <StatusGlyph status={task.status} name={statusNames[task.status]} />
              <span className="key">{task.key}</span>
              <span className="cut grow">{task.title}</span>
              {task.blockedBy.length > 0 && <span className="t12 soft">{words.waits(task.blockedBy.length)}</span>}
              {task.dueAt && <DueDate at={task.dueAt} />}
              <PriorityGlyph priority={task.priority} name={priorityNames[task.priority]} />
            </Link>
          </li>
        ))}
      </ul>
    </Sheet>
  )
}

function DueDate({ at }: { at: string }) {
  const { text, urgency } = dueLabel(at)
  return <span className={`due ${urgency}`}>{text}</span>
}

function AtWork({ home }: Part) {
  return (
    <Sheet
      title={words.atWork}
      more={
        <Link className="link" to="/now">
          {words.now}
        </Link>
      }
    >
      {!home && <Waiting />}
      {home?.atWork.length === 0 && <p className="soft t13">{words.nobody}</p>}
      <ul className="feed">
        {home?.atWork.map(({ id, key, title, lease }) =>
          lease ? (
            <li key={id} className={lease.stalled ? 'held stalled' : 'held'}>
              <LeaseRing party={lease.holder} left={shareLeft(lease.lastSeenAt, lease.expiresAt)} />
              <Link className="stack s1 quietlink" to="/tasks/$key" params={{ key }}>
                <span className="cut">
                  <b className="b5">{lease.holder.name}</b>{' '}
                  {lease.holder.for && <span className="soft">{words.for(lease.holder.for.name)}</span>}
                </span>
                <span className="cut soft">
                  {key} {title}
                </span>
              </Link>
              <span className="stack s1 t12 soft end">
                <TimeMark text={lastCallLabel(lease.lastSeenAt)} title={common.lastCall} />
                {lease.lastChangeAt ? (
                  <TimeMark
                    text={ago(lease.lastChangeAt)}
                    title={common.lastChange}
                    change
                    late={lease.stalled === true}
                  />
                ) : (
                  <span className="nowrap">{common.minutesLeft(minutesUntil(lease.expiresAt))}</span>
                )}
              </span>
            </li>
          ) : null,
        )}
      </ul>
    </Sheet>
  )
}

function Today({ home }: Part) {
  return (
    <Sheet
      title={words.today}
      more={
        <Link className="link" to="/activity" search={(before) => ({ team: before.team, who: 'agent' as const })}>
          {words.activity}
        </Link>
      }
    >
      {!home && <Waiting />}
      {home?.today.length === 0 && <p className="soft t13">{words.nothingToday}</p>}
      <ul className="today">
        {home?.today.slice(0, 12).map(({ id, at, actor, description }) => (
          <li key={id}>
            <FeedRow
              actor={actor}
              what={description}
              when={
                <time className="t12 soft nowrap" dateTime={at}>
                  {ago(at)}
                </time>
              }
            />
          </li>
        ))}
      </ul>
    </Sheet>
  )
}
