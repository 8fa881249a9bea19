/** Claimed tasks with their holders. The last call and the last change are separate, to tell working from stalled. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate, useRouteContext } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import type { Lane, Now } from '../../../features/now/schema.ts'
import { TimeAxis, type TimeSpan } from '../../components/chart/event-timeline.tsx'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { EmptyState, LoadStatus, ProblemBox } from '../../components/states.tsx'
import { Kbd, useStatusBarLeft } from '../../components/status-bar.tsx'
import { lazy } from '../../lib/lazy.ts'
import { clockTime } from '../../lib/times.ts'
import { useCommands } from '../../shortcuts.ts'
import { statusNames } from '../../words.ts'
import { LaneRow } from './lane.tsx'
import { nowQuery, useLaneAct } from './queries.ts'
import type { Hours } from './search.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/now')
const HOUR = 3_600_000
/** How much of the time to come is shown, for leases: less of a long span. */
const AHEAD: Record<Hours, number> = { '2': 0.5 * HOUR, '8': HOUR, '24': 2 * HOUR }

const Ask = lazy(async () => ({ default: (await import('./comment-dialog.tsx')).CommentDialog }))
const footKeys = (
  <>
    <span className="row">
      <Kbd>j</Kbd>
      <Kbd>k</Kbd> {words.keys.lane}
    </span>
    <span className="row">
      <Kbd>Enter</Kbd> {words.keys.open}
    </span>
    <span className="row">
      <Kbd>t</Kbd> {words.keys.take}
    </span>
    <span className="row">
      <Kbd>b</Kbd> {words.keys.back}
    </span>
    <span className="row">
      <Kbd>r</Kbd> {words.keys.comment}
    </span>
  </>
)

const keyOf = ({ party, task }: Lane): string => `${party.type} ${party.id ?? party.name} ${task?.id ?? ''}`

export function NowPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const { hours = '2' } = route.useSearch()
  const { data, error } = useQuery(nowQuery(team.id, hours))
  useStatusBarLeft(footKeys)
  return (
    <>
      <ViewBar data={data} hours={hours} />
      <div className="scroll nowlist">
        <LoadStatus of={{ data, error }} />
        {data && <Lanes data={data} hours={hours} />}
      </div>
    </>
  )
}

function ViewBar({ data, hours }: { data: Now | undefined; hours: Hours }) {
  const navigate = useNavigate({ from: '/now' })
  const held = data?.lanes.filter(({ lease }) => lease).length ?? 0
  const stalled = data?.lanes.filter((lane) => lane.stalled).length ?? 0
  return (
    <div className="viewbar">
      <h1 className="h2">{words.title}</h1>
      {data && (
        <span className="soft t13 sum">
          {words.atWork(held)}
          {stalled > 0 && (
            <>
              {' · '}
              <span className="warn b5">{words.stalledCount(stalled)}</span>
            </>
          )}
        </span>
      )}
      <span className="grow" />
      <span className="legend t12 soft">
        <span className="clock">{words.call}</span>
        <span className="clock change">{words.byAgent}</span>
        <span className="clock change round">{words.byPerson}</span>
      </span>
      <fieldset className="seg span" aria-label={words.span}>
        {(['2', '8', '24'] as const).map((value) => (
          <button
            key={value}
            type="button"
            aria-pressed={value === hours}
            onClick={() =>
              void navigate({ search: ({ hours: _, ...rest }) => (value === '2' ? rest : { ...rest, hours: value }) })
            }
          >
            {words.spans[value]}
          </button>
        ))}
      </fieldset>
    </div>
  )
}

/** The server's clock, continued from when the response came: a demo's clock may differ from the browser's. */
function useServerTime({ at, loadedAt }: { at: string; loadedAt: number }): number {
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 5000)
    return () => clearInterval(timer)
  }, [])
  return Date.parse(at) + Math.max(0, Date.now() - loadedAt)
}

function Lanes({ data, hours }: { data: Now & { loadedAt: number }; hours: Hours }) {
  const { me } = useRouteContext({ from: '/inside' })
  const now = useServerTime(data)
  const act = useLaneAct()
  const [chosen, setChosen] = useState<string>()
  const [asked, setAsked] = useState<Lane>()
  const { lanes } = data
  useLaneKeys(lanes, chosen, setChosen, { me: me.id, act: act.mutate, ask: setAsked })
  const span: TimeSpan = { from: now - Number(hours) * HOUR, until: now + AHEAD[hours] }
  if (lanes.length === 0 && data.ready.length === 0)
    return (
      <EmptyState title={words.none}>
        <p className="soft">{words.noneText}</p>
        <code className="code">{words.command}</code>
      </EmptyState>
    )
  return (
    <>
      <div className="axis">
        <span>{words.who}</span>
        <TimeAxis span={span} now={now} text={clockTime} />
        <span>{words.clocks}</span>
      </div>
      {act.error && <ProblemBox error={act.error} />}
      {lanes.map((lane, place) => (
        <LaneRow
          key={keyOf(lane)}
          lane={lane}
          under={lane.party.type === 'agent' && lane.for !== null && place > 0}
          you={lane.party.type === 'user' && lane.party.id === me.id}
          chosen={keyOf(lane) === chosen}
          span={span}
          now={now}
          busy={act.isPending}
          onChoose={() => setChosen(keyOf(lane))}
          onAct={(what) => act.mutate({ lane, act: what })}
          onAsk={() => setAsked(lane)}
        />
      ))}
      <Ready ready={data.ready} />
      <p className="lines t12 soft">
        <span>{words.lines}</span>
        <span>{words.dashed}</span>
      </p>
      {asked?.task && (
        <Suspense>
          <Ask
            title={words.askTitle(asked.task.key)}
            onSend={(comment) => {
              act.mutate({ lane: asked, act: { comment } })
              setAsked(undefined)
            }}
            onClose={() => setAsked(undefined)}
          />
        </Suspense>
      )}
    </>
  )
}

interface Doing {
  me: string
  act: ReturnType<typeof useLaneAct>['mutate']
  ask(lane: Lane): void
}

function useLaneKeys(
  lanes: readonly Lane[],
  chosen: string | undefined,
  choose: (key: string) => void,
  { me, act, ask }: Doing,
): void {
  const navigate = useNavigate()
  const at = lanes.findIndex((lane) => keyOf(lane) === chosen)
  const lane = lanes[at]
  const move = (by: number) => {
    const next = lanes[Math.min(lanes.length - 1, Math.max(0, at + by))]
    if (next) choose(keyOf(next))
  }
  const isMine = lane?.party.id === me
  useCommands([
    { keys: 'j', label: words.nextLane, scope: 'list', keysOnly: true, run: () => move(1) },
    { keys: 'k', label: words.laneBefore, scope: 'list', keysOnly: true, run: () => move(-1) },
    ...(lane?.task
      ? [
          {
            keys: 'Enter',
            label: words.keys.open,
            on: lane.task.key,
            run: () => void navigate({ to: '/tasks/$key', params: { key: lane.task?.key ?? '' } }),
          },
        ]
      : []),
    ...(lane?.can?.update === true && !isMine
      ? [{ keys: 't', label: words.takeOver, on: lane.task?.key, run: () => act({ lane, act: 'take' }) }]
      : []),
    ...(lane?.can?.release === true
      ? [{ keys: 'b', label: words.giveBack, on: lane.task?.key, run: () => act({ lane, act: 'release' }) }]
      : []),
    ...(lane?.can?.comment === true
      ? [{ keys: 'r', label: words.comment, on: lane.task?.key, run: () => ask(lane) }]
      : []),
  ])
}

const Ready = ({ ready }: { ready: Now['ready'] }) =>
  ready.length > 0 && (
    <div className="unheld">
      <h2 className="h3">{words.ready}</h2>
      {ready.map(({ id, key, title, status }) => (
        <Link key={id} className="chip" to="/tasks/$key" params={{ key }}>
          <StatusGlyph status={status} name={statusNames[status]} />
          {key} <b className="cut">{title}</b>
        </Link>
      ))}
      <span className="t12 soft">{words.nextGets(ready[0]?.key ?? '')}</span>
    </div>
  )
