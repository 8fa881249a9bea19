/** One agent: what it is for, what it works on, what it remembers and did. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { AgentDetail } from '../../../features/agents/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { ago, dayAndTime } from '../../lib/times.ts'
import { usePresence } from '../../live/presence.ts'
import { statusNames } from '../../words.ts'
import { FocusedTaskKeys } from '../task/focused-task-keys.tsx'
import { EditAgent } from './edit.tsx'
import { agentQuery, agentTokensQuery, heldTasksQuery, useChangeAgent } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/agents/$id')

export function AgentPage() {
  const { id } = route.useParams()
  const { data: agent } = useSuspenseQuery(agentQuery(id))
  const change = useChangeAgent(agent)
  const held = useQuery(heldTasksQuery(agent.id)).data ?? []
  const tasks = [...held, ...agent.openTasks.filter(({ id }) => !held.some((task) => task.id === id))]
  useCrumbs({ label: words.agents, to: '/agents' }, { label: agent.name, record: agent.id })
  return (
    <div className="scroll">
      <div className="page stack s5">
        <Head agent={agent} busy={change.isPending} onStatus={(status) => change.mutate({ status })} />
        {change.error && <ProblemBox error={change.error} />}
        <Facts agent={agent} />
        <FocusedTaskKeys />
        <div className="two agentcols">
          <Section title={words.tasks} empty={tasks.length === 0}>
            {tasks.map((task) => (
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
              <li key={memory.id} className="row">
                <span className="grow cut">{memory.title ?? memory.excerpt}</span>
                <span className="soft t12 nowrap">{words.ago(ago(memory.updatedAt))}</span>
              </li>
            ))}
          </Section>
          <Section title={words.activity} empty={agent.recentActivity.length === 0}>
            {agent.recentActivity.map((event) => (
              <li key={event.id} className="row">
                <span className="grow cut">{event.description}</span>
                <time className="soft t12 nowrap" dateTime={event.at} title={dayAndTime(event.at)}>
                  {words.ago(ago(event.at))}
                </time>
              </li>
            ))}
          </Section>
          <Tokens agent={agent} />
        </div>
        {agent.persona && (
          <section className="sheet pad stack">
            <h2 className="h2">{words.persona}</h2>
            <Markdown text={agent.persona} />
          </section>
        )}
        {agent.systemPrompt && (
          <section className="sheet pad stack">
            <h2 className="h2">{words.prompt}</h2>
            <Markdown text={agent.systemPrompt} />
          </section>
        )}
      </div>
    </div>
  )
}

interface HeadProps {
  agent: AgentDetail
  busy: boolean
  onStatus(status: AgentDetail['status']): void
}

function Head({ agent, busy, onStatus }: HeadProps) {
  const here = usePresence().find(({ id }) => id === agent.id)
  const may = agent.can?.update === true
  const [editing, setEditing] = useState(false)
  const next = agent.status === 'active' ? 'archived' : 'active'
  return (
    <header className="row wide phead wraps">
      <Avatar party={{ type: 'agent', id: agent.id, name: agent.name }} size="l" />
      <div className="grow">
        <h1 className="h1">{agent.name}</h1>
        <p className="row wraps">
          {agent.role && <span className="soft">{agent.role}</span>}
          {agent.for && <span className="soft">{words.worksFor(agent.for.name)}</span>}
          {agent.status === 'archived' && <span className="flag">{words.archived}</span>}
          {here && <span className="flag agent">{here.state?.task ? words.atWork(here.state.task) : words.here}</span>}
        </p>
      </div>
      <span className="row">
        {agent.status === 'active' && (
          <Link className="btn" to="/tokens" search={{ agent: agent.id }}>
            {words.newToken}
          </Link>
        )}
        {may && (
          <>
            <button type="button" className="btn" onClick={() => setEditing(true)}>
              {words.edit}
            </button>
            <button type="button" className="btn" disabled={busy} onClick={() => onStatus(next)}>
              {agent.status === 'active' ? words.archive : words.restore}
            </button>
          </>
        )}
      </span>
      {editing && <EditAgent agent={agent} onClose={() => setEditing(false)} />}
    </header>
  )
}

function Facts({ agent }: { agent: AgentDetail }) {
  const facts: [string, string | null][] = [
    [words.facts.client, agent.client],
    [words.facts.model, agent.model],
    [words.facts.provider, agent.provider],
    [words.facts.memory, words.memoryScopes[agent.memoryScope]],
    [words.facts.gates, String(agent.gatesPassed)],
  ]
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <div key={name}>
            <dt className="t12 soft">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

function Tokens({ agent }: { agent: AgentDetail }) {
  const tokens = useQuery(agentTokensQuery(agent.id)).data ?? []
  return (
    <Section title={words.tokens} empty={tokens.length === 0}>
      {tokens.map((token) => (
        <li key={token.id} className="cut">
          <Link to="/tokens">{words.tokenOf(token.name, token.lastUsedAt ? ago(token.lastUsedAt) : undefined)}</Link>
        </li>
      ))}
    </Section>
  )
}

const Section = ({ title, empty, children }: { title: string; empty: boolean; children: ReactNode }) => (
  <section className="sheet pad stack">
    <h2 className="h2">{title}</h2>
    {empty ? <p className="soft">{words.nothing}</p> : <ul className="stack s1 t13">{children}</ul>}
  </section>
)
