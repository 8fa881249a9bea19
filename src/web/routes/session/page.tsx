/** One session: its goals, and a replay of every change in it. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate, useRouteContext } from '@tanstack/react-router'
import { Flag, Pause, Play, StepBack, StepForward } from 'lucide-react'
import { useMemo } from 'react'
import type { Session } from '../../../features/sessions/schema.ts'
import type { Timeline } from '../../../features/sessions/timeline-schema.ts'
import { agentsQuery, membersQuery } from '../../account/session.ts'
import { Avatar } from '../../components/avatar.tsx'
import { CheckpointFields } from '../../components/checkpoint.tsx'
import { Kbd, useStatusBarLeft } from '../../components/status-bar.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { clockTime, dayAndTime } from '../../lib/times.ts'
import { useCommands } from '../../shortcuts.ts'
import { ChangeList } from './changes.tsx'
import { BriefMeter, ResumeCommand } from './details.tsx'
import { sessionQuery, timelineQuery } from './queries.ts'
import { ReplacedValues } from './replaced-values.tsx'
import { type Replay, speeds, useReplay } from './replay.ts'
import { SessionTimeline } from './session-timeline.tsx'
import { type TimeScale, timeScale } from './time-scale.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/sessions/$id')

const footKeys = (
  <>
    <span className="row">
      <Kbd>Space</Kbd> {words.keys.play}
    </span>
    <span className="row">
      <Kbd>←</Kbd>
      <Kbd>→</Kbd> {words.keys.step}
    </span>
    <span className="row">
      <Kbd>⇧</Kbd>
      <Kbd>→</Kbd> {words.keys.checkpoint}
    </span>
    <span className="row">
      <Kbd>Enter</Kbd> {words.keys.open}
    </span>
  </>
)

export function SessionPage() {
  const { id } = route.useParams()
  const { data: timeline } = useSuspenseQuery(timelineQuery(id))
  const { data: session } = useQuery({ ...sessionQuery(id), enabled: timeline.own })
  const replaying = useReplay(timeline)
  const scale = useMemo(() => timeScale(timeline, lastAt(timeline)), [timeline])
  const title = timeline.own ? (session?.goals[0] ?? words.noGoal) : words.ofOther
  useCrumbs({ label: words.sessions, to: '/sessions' }, { label: title, record: timeline.id })
  useStatusBarLeft(footKeys)
  useReplayKeys(timeline, replaying)
  return (
    <div className="scroll">
      <div className="page wide stack s4 rep">
        <Head timeline={timeline} title={title} scale={scale} />
        <section className="sheet score" aria-label={words.replay}>
          <SessionTimeline timeline={timeline} scale={scale} current={replaying.current} />
          <Transport timeline={timeline} replaying={replaying} />
        </section>
        <div className="cols-rep">
          <ChangeList
            events={timeline.events}
            more={timeline.more}
            current={replaying.current}
            onChoose={replaying.goTo}
          />
          <SideSheet timeline={timeline} session={session} current={replaying.current} />
        </div>
      </div>
    </div>
  )
}

const lastAt = ({ startedAt, events, calls }: Timeline): number =>
  Math.max(Date.parse(startedAt), ...[events.at(-1)?.at, calls.at(-1)?.minute].map((at) => (at ? Date.parse(at) : 0)))

function useReplayKeys({ events }: Timeline, { current, toggle, step, toCheckpoint }: Replay): void {
  const navigate = useNavigate()
  const path = events[current]?.path
  useCommands([
    { keys: 'Space', label: words.play, run: toggle },
    { keys: 'ArrowLeft', label: words.before, keysOnly: true, run: () => step(-1) },
    { keys: 'ArrowRight', label: words.next, keysOnly: true, run: () => step(1) },
    { keys: 'Shift+ArrowRight', label: words.nextCheckpoint, run: toCheckpoint },
    ...(path ? [{ keys: 'Enter', label: words.open, run: () => void navigate({ to: path }) }] : []),
  ])
}

function Head({ timeline, title, scale }: { timeline: Timeline; title: string; scale: TimeScale }) {
  const { team } = useRouteContext({ from: '/inside' })
  const agent = useQuery(agentsQuery(team.id)).data?.find(({ id }) => id === timeline.agentId)
  const person = useQuery(membersQuery(team.id)).data?.find(({ id }) => id === timeline.userId)
  const party = agent
    ? { type: 'agent' as const, id: agent.id, name: agent.name }
    : { type: 'user' as const, id: timeline.userId, name: person?.name ?? words.somebody }
  const rest = scale.rests.reduce((sum, { from, until }) => sum + until - from, 0)
  const facts: [string, string][] = [
    [words.facts.calls, words.number(timeline.calls.reduce((sum, { n }) => sum + n, 0))],
    [words.facts.changes, words.number(timeline.events.filter(({ own }) => own).length)],
    ...(timeline.briefs.length > 0
      ? [
          [words.facts.brief, `${words.number(timeline.briefs.at(-1)?.tokens ?? 0)} ${words.tokens}`] as [
            string,
            string,
          ],
        ]
      : []),
    [words.facts.rest, words.minutes(Math.round(rest / 60_000))],
  ]
  return (
    <header className="row wide">
      <Avatar party={party} size="l" />
      <div className="grow">
        <h1 className="h1">{title}</h1>
        <p className="row t13 soft wrap">
          {[
            agent && person ? `${agent.name} for ${person.name}` : party.name,
            words.time(
              dayAndTime(timeline.startedAt),
              clockTime(timeline.endedAt ?? lastAt(timeline)),
              words.states[timeline.status],
            ),
            [...new Set(timeline.holds.map(({ key }) => key))].join(', '),
          ]
            .filter(Boolean)
            .map((fact, place) => (
              <span key={fact}>
                {place > 0 && (
                  <span className="hp" aria-hidden>
                    ·{' '}
                  </span>
                )}
                {fact}
              </span>
            ))}
        </p>
      </div>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </header>
  )
}

function Transport({ timeline: { events }, replaying }: { timeline: Timeline; replaying: Replay }) {
  const { current, playing, speed, setSpeed, step, toggle } = replaying
  const Icon = playing ? Pause : Play
  return (
    <div className="transport">
      <button type="button" className="ib" aria-label={words.before} disabled={current <= 0} onClick={() => step(-1)}>
        <StepBack className="i" aria-hidden />
      </button>
      <button type="button" className="btn main playb" disabled={events.length < 2} onClick={toggle}>
        <Icon className="i s14" aria-hidden />
        {playing ? words.pause : words.play}
      </button>
      <button
        type="button"
        className="ib"
        aria-label={words.next}
        disabled={current >= events.length - 1}
        onClick={() => step(1)}
      >
        <StepForward className="i" aria-hidden />
      </button>
      <fieldset className="seg" aria-label={words.speed}>
        {speeds.map((value) => (
          <button key={value} type="button" aria-pressed={value === speed} onClick={() => setSpeed(value)}>
            {value}×
          </button>
        ))}
      </fieldset>
      <span className="t12 soft">{events.length > 0 && words.place(current + 1, events.length)}</span>
      <span className="grow" />
      <span className="row wide t12 soft leg">
        <span className="row tight">
          <Flag className="i s14" aria-hidden />
          {words.checkpoint}
        </span>
        <span className="clock">{words.toCome}</span>
        <span className="clock change round">{words.byPerson}</span>
      </span>
    </div>
  )
}

function SideSheet({
  timeline,
  session,
  current,
}: {
  timeline: Timeline
  session: Session | undefined
  current: number
}) {
  const event = timeline.events[current]
  const known = timeline.briefs.filter(({ at }) => !event || at <= event.at).at(-1) ?? timeline.briefs[0]
  return (
    <section className="sheet pad stack s4">
      {event && (
        <header className="row">
          <h2 className="h2">{words.at(clockTime(event.at))}</h2>
          {event.path && (
            <Link className="link t12 end" to={event.path}>
              {words.open}
            </Link>
          )}
        </header>
      )}
      {event && (
        <p className="t13">
          <b className="b5">{event.actor.name}</b> {event.description}
        </p>
      )}
      {event && event.changes.length > 0 && <ReplacedValues changes={event.changes} />}
      {!timeline.own && <p className="soft t13">{words.headOnly}</p>}
      {session && session.goals.length > 1 && (
        <div className="stack">
          <h3 className="h3">{words.goals}</h3>
          <ul className="stack s1 t13">
            {session.goals.map((goal) => (
              <li key={goal}>{goal}</li>
            ))}
          </ul>
        </div>
      )}
      {known && <BriefMeter brief={known} />}
      {session?.checkpoint && session.checkpointAt && (
        <div className="stack">
          <h3 className="h3">{words.lastCheckpoint(dayAndTime(session.checkpointAt))}</h3>
          <CheckpointFields checkpoint={session.checkpoint} />
        </div>
      )}
      {timeline.own && <ResumeCommand id={timeline.id} budget={timeline.briefs.at(-1)?.budget ?? 4000} />}
    </section>
  )
}
