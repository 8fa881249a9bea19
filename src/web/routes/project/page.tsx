/** A project at a glance: progress, epics, gates, decisions, activity, and the brief that agents receive. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Settings2, Share2 } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { ProjectDetail } from '../../../features/projects/schema.ts'
import { BurnUpChart, forecast } from '../../components/chart/burn-up-chart.tsx'
import { LoadStatus } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { lazy } from '../../lib/lazy.ts'
import { day } from '../../lib/times.ts'
import { AgentView } from './agent-view.tsx'
import type { ProjectDialog } from './dialogs.tsx'
import { progressQuery, projectQuery } from './queries.ts'
import { ActivitySheet, DecisionsSheet, EpicsSheet, GatesSheet } from './sheets.tsx'
import { words } from './words.ts'

const Dialogs = lazy(() => import('./dialogs.tsx'))

const route = getRouteApi('/inside/projects/$slug')

export function ProjectPage() {
  const { slug } = route.useParams()
  const project = useSuspenseQuery(projectQuery(slug)).data
  const [asked, setAsked] = useState<ProjectDialog>()
  const [days, setDays] = useState(56)
  const progress = useQuery(progressQuery(slug, days))
  useCrumbs({ label: project.name, record: project.id })
  const may = project.can?.write === true
  return (
    <div className="scroll">
      <div className="page wide ph stack s4">
        <header className="row wide">
          <div className="grow">
            <h1 className="h1 row">
              <span className={`pdot ${project.color}`} />
              {project.name}
            </h1>
            {project.description && <p className="soft">{project.description}</p>}
            {project.status === 'archived' && <p className="warn">{words.archived}</p>}
          </div>
          {project.can?.share === true && (
            <button type="button" className="btn" onClick={() => setAsked('share')}>
              <Share2 className="i s14" aria-hidden />
              {words.share}
            </button>
          )}
          <button type="button" className="btn" onClick={() => setAsked('agents')}>
            {words.agentsFile}
          </button>
          {project.can?.update === true && (
            <button type="button" className="ib" aria-label={words.settings} onClick={() => setAsked('settings')}>
              <Settings2 className="i" aria-hidden />
            </button>
          )}
        </header>
        <Counts stats={project.stats} lately={doneLately(progress.data?.days)} />
        <div className="phgrid">
          <div className="stack s4">
            <Burn progress={progress} days={days} onDays={setDays} />
            <EpicsSheet slug={slug} may={may} />
            <GatesSheet slug={slug} />
            <DecisionsSheet project={project} />
          </div>
          <div className="stack s4">
            <AgentView projectId={project.id} />
            <ActivitySheet project={project} />
          </div>
        </div>
      </div>
      {asked && (
        <Suspense>
          <Dialogs project={project} asked={asked} onClose={() => setAsked(undefined)} />
        </Suspense>
      )}
    </div>
  )
}

type Days = readonly { people: number; agents: number; scope: number; day: string }[]

interface Lately {
  people: number
  agents: number
}
/** What was done in the last seven days. */
const doneLately = (days: Days | undefined): Lately | undefined => {
  const [now, then] = [days?.at(-1), days?.at(-8) ?? days?.[0]]
  return now && then ? { people: now.people - then.people, agents: now.agents - then.agents } : undefined
}

function Counts({ stats, lately }: { stats: ProjectDetail['stats']; lately: Lately | undefined }) {
  const { open = 0, inReview = 0, blocked = 0, openGates = 0, atWork = 0, agentsAtWork = 0 } = stats
  const all: [name: string, n: number, sub?: string][] = [
    [words.counts.open, open, words.counts.done(stats.tasksDone, stats.tasks)],
    [words.counts.atWork, atWork, agentsAtWork > 0 ? words.counts.agents(agentsAtWork) : undefined],
    [words.counts.inReview, inReview],
    [
      words.counts.lately,
      (lately?.people ?? 0) + (lately?.agents ?? 0),
      lately && lately.agents > 0 ? words.counts.byAgents(lately.agents) : undefined,
    ],
    [words.counts.gates, openGates],
    [words.counts.blocked, blocked],
  ]
  return (
    <dl className="counts">
      {all.map(([name, n, sub]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{n}</dd>
          <dd className="sub">{sub}</dd>
        </div>
      ))}
    </dl>
  )
}

interface BurnProps {
  progress: { data: { days: Days } | undefined; error: Error | null }
  days: number
  onDays(days: number): void
}

function Burn({ progress: { data, error }, days, onDays }: BurnProps) {
  const last = data?.days.at(-1)
  const by = data && forecast(data.days)
  return (
    <section className="sheet pad" aria-label={words.burnUp}>
      <header className="row">
        <h2 className="h2">{words.burnUp}</h2>
        <span className="soft t12 hp">{words.burnUpText}</span>
        <div className="seg end" role="group" aria-label={words.period}>
          {Object.entries(words.periods).map(([n, name]) => (
            <button key={n} type="button" aria-pressed={Number(n) === days} onClick={() => onDays(Number(n))}>
              {name}
            </button>
          ))}
        </div>
      </header>
      <LoadStatus of={{ data, error }} />
      {data && last && (
        <BurnUpChart
          days={data.days}
          name={words.chart(last.people + last.agents, last.scope, by && day(by.date))}
          words={{ ...words, at: words.atThisPace }}
          day={day}
        />
      )}
    </section>
  )
}
