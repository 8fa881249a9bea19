import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { Avatar } from '../../components/party.tsx'
import { ago } from '../../times.ts'
import { statusNames } from '../../words.ts'
import { agentQuery } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/agents/$id')

export function AgentPage() {
  const { id } = route.useParams()
  const { data: agent } = useSuspenseQuery(agentQuery(id))
  return (
    <div className="scroll">
      <div className="page stack s5">
        <header className="row wide phead">
          <Avatar party={{ type: 'agent', id: agent.id, name: agent.name }} size="l" />
          <div className="grow">
            <h1 className="h1">{agent.name}</h1>
            {agent.role && <p className="soft">{agent.role}</p>}
          </div>
        </header>
        <Section title={words.tasks} empty={agent.openTasks.length === 0}>
          {agent.openTasks.map((task) => (
            <li key={task.id}>
              <Link className="dep" to="/tasks/$key" params={{ key: task.key }}>
                <StatusGlyph status={task.status} name={statusNames[task.status]} />
                <span className="key">{task.key}</span>
                <span className="cut">{task.title}</span>
              </Link>
            </li>
          ))}
        </Section>
        <Section title={words.memories} empty={agent.recentMemories.length === 0}>
          {agent.recentMemories.map((memory) => (
            <li key={memory.id}>{memory.title ?? memory.excerpt}</li>
          ))}
        </Section>
        <Section title={words.activity} empty={agent.recentActivity.length === 0}>
          {agent.recentActivity.map((event) => (
            <li key={event.id} className="row">
              <span className="grow cut">{event.description}</span>
              <span className="soft t12">{ago(event.at)}</span>
            </li>
          ))}
        </Section>
      </div>
    </div>
  )
}

const Section = ({ title, empty, children }: { title: string; empty: boolean; children: ReactNode }) => (
  <section className="sheet pad stack">
    <h2 className="h2">{title}</h2>
    {empty ? <p className="soft">{words.nothing}</p> : <ul className="stack s1">{children}</ul>}
  </section>
)
