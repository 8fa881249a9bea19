/** The sheets of the page: epics, gates, decisions, what happened. Each shows its first few and leads to the rest. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Lock, Scale } from 'lucide-react'
import type { ReactNode } from 'react'
import type { ProjectDetail } from '../../../features/projects/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { ProgressMeter } from '../../components/chart/burn-up-chart.tsx'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { ago, day, dayAndTime } from '../../lib/times.ts'
import { epicsQuery, gatesQuery, projectDecisionsQuery, projectFeedQuery } from './queries.ts'
import { words } from './words.ts'

interface Loaded<T> {
  data: T | undefined
  error: Error | null
}

function Sheet<T>({
  title,
  end,
  of: { data, error },
  children,
}: {
  title: string
  end?: ReactNode
  of: Loaded<T>
  children(data: T): ReactNode
}) {
  return (
    <section className="sheet pad" aria-label={title}>
      <header className="row">
        <h2 className="h2">{title}</h2>
        {end}
      </header>
      {error && data === undefined && <ProblemBox error={error} />}
      {data === undefined && !error && <Waiting />}
      {data !== undefined && children(data)}
    </section>
  )
}

export function EpicsSheet({ slug, may }: { slug: string; may: boolean }) {
  const found = useQuery(epicsQuery(slug))
  const more = (found.data?.total ?? 0) > (found.data?.items.length ?? 0)
  const legend = (
    <>
      <span className="key2 a t12 soft end">{words.byAgents}</span>
      <span className="key2 p t12 soft">{words.byPeople}</span>
      {more && (
        <Link className="link t12" to="/projects/$slug/plan" params={{ slug }}>
          {words.allEpics(found.data?.total ?? 0)}
        </Link>
      )}
    </>
  )
  return (
    <Sheet title={words.epics} of={found} end={legend}>
      {({ items }) =>
        items.length === 0 ? (
          <p className="soft">
            {words.noEpics}{' '}
            {may && (
              <Link className="link" to="/projects/$slug/plan" params={{ slug }}>
                {words.planOne}
              </Link>
            )}
          </p>
        ) : (
          <ul className="epics">
            {items.map(({ id, title, progress: { tasks, done, agents = 0 } }) => (
              <li key={id} className="epic">
                <Link className="cut b5" to="/projects/$slug/epics/$epicId" params={{ slug, epicId: id }}>
                  {title}
                </Link>
                <ProgressMeter all={tasks} agents={agents} people={done - agents} />
                <span className="num soft t12">{words.of(done, tasks)}</span>
              </li>
            ))}
          </ul>
        )
      }
    </Sheet>
  )
}

const openGate = (gates: readonly { gate: string; state: string }[]): string | undefined =>
  gates.find(({ state }) => state === 'open')?.gate.replaceAll('_', ' ')

export function GatesSheet({ slug }: { slug: string }) {
  const found = useQuery(gatesQuery(slug))
  const total = found.data?.total ?? 0
  const all = total > (found.data?.items.length ?? 0) && (
    <Link className="link t12 end" to="/projects/$slug/features" params={{ slug }}>
      {words.all(total)}
    </Link>
  )
  return (
    <Sheet title={words.gatesWaiting} of={found} end={all}>
      {({ items }) =>
        items.length === 0 ? (
          <p className="soft">{words.noGates}</p>
        ) : (
          <ul className="decs">
            {items.map((feature) => (
              <li key={feature.id}>
                <Lock className="i s14" aria-hidden />
                <Link className="grow cut b5" to="/features/$id" params={{ id: feature.id }}>
                  {feature.title}
                </Link>
                <span className="flag info">{openGate(feature.gates)}</span>
              </li>
            ))}
          </ul>
        )
      }
    </Sheet>
  )
}

const tones: Record<string, string> = { accepted: 'good', proposed: 'info', rejected: 'bad' }

export function DecisionsSheet({ project }: { project: Pick<ProjectDetail, 'id' | 'slug'> }) {
  const found = useQuery(projectDecisionsQuery(project.id))
  const total = found.data?.total ?? 0
  const all = total > 0 && (
    <Link className="link t12 end" to="/decisions" search={{ project: project.slug }}>
      {words.all(total)}
    </Link>
  )
  return (
    <Sheet title={words.decisions} of={found} end={all}>
      {({ items }) =>
        items.length === 0 ? (
          <p className="soft">{words.noDecisions}</p>
        ) : (
          <ul className="decs">
            {items.map(({ id, title, status, author, createdAt }) => (
              <li key={id}>
                <Scale className="i s14" aria-hidden />
                <Link className="grow cut b5" to="/decisions/$id" params={{ id }}>
                  {title}
                </Link>
                <span className={`flag ${tones[status] ?? ''}`}>{status}</span>
                <span className="t12 soft hp">
                  {author.name}, {day(createdAt)}
                </span>
              </li>
            ))}
          </ul>
        )
      }
    </Sheet>
  )
}

export function ActivitySheet({ project }: { project: ProjectDetail }) {
  const found = useQuery(projectFeedQuery(project))
  return (
    <Sheet title={words.feed} of={found}>
      {(items) =>
        items.length === 0 ? (
          <p className="soft">{words.noFeed}</p>
        ) : (
          <ul className="feed">
            {items.map(({ id, actor, description, at }) => (
              <li key={id}>
                <Avatar party={{ ...actor, type: actor.type === 'agent' ? 'agent' : 'user' }} />
                <span>
                  <b>{actor.name}</b> {description}
                </span>
                <time dateTime={at} title={dayAndTime(at)}>
                  {ago(at)}
                </time>
              </li>
            ))}
          </ul>
        )
      }
    </Sheet>
  )
}
