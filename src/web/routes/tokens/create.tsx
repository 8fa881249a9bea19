import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { type AgentClientName, clients } from '../../../clients.ts'
import type { McpTokenCreated } from '../../../features/tokens/schema.ts'
import { agentsQuery, projectsQuery } from '../../account/session.ts'
import { newIdempotencyKey } from '../../api.ts'
import { Field, Select } from '../../components/form/fields.tsx'
import { ProjectLimitFields, readProjectLimit } from '../../components/form/project-limit.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { toolsetsQuery, useCreateToken } from './queries.ts'
import { words } from './words.ts'

const names = Object.keys(clients) as AgentClientName[]
const DAYS = [30, 90, 365]

/** A token that was just created: its secret is shown now and never again. */
export interface NewToken {
  token: McpTokenCreated
  secret: string
  program: AgentClientName | undefined
}

interface Props {
  /** The agent that uses it; default: one of its own. */
  agentId?: string
  onCreated(made: NewToken): void
}

/** The form for a new token. */
export function CreateToken({ agentId, onCreated }: Props) {
  const { team } = useRouteContext({ from: '/inside' })
  const [key] = useState(newIdempotencyKey)
  const create = useCreateToken()
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const value = (name: string) => String(new FormData(event.currentTarget).get(name) ?? '')
    const program = names.find((name) => name === value('program'))
    const toolset = value('toolset')
    const projects = readProjectLimit(event.currentTarget)
    create.mutate(
      {
        key,
        name: value('name').trim(),
        organizationId: team.id,
        scopes: [value('scope')],
        expiresInDays: Number(value('days')),
        ...(program && { client: clients[program].title }),
        ...(toolset && { toolsets: [toolset] }),
        ...(projects && { projects, ...(projects.length === 1 && { defaultProject: projects[0] }) }),
        ...(value('agent') && { agentId: value('agent') }),
      },
      { onSuccess: ({ token: secret = '', ...token }) => onCreated({ token, secret, program }) },
    )
  }
  return (
    <form className="stack s4" onSubmit={submit}>
      <Field label={words.form.name} name="name" defaultValue={words.form.nameHint} required maxLength={100} />
      <label className="field">
        <span>{words.form.program}</span>
        <select className="input" name="program">
          {names.map((name) => (
            <option key={name} value={name}>
              {clients[name].title}
            </option>
          ))}
          <option value="">{words.form.otherProgram}</option>
        </select>
      </label>
      <AgentChoice team={team.id} agentId={agentId} />
      <label className="field">
        <span>{words.form.scope}</span>
        <select className="input" name="scope">
          <option value="write">{words.form.write}</option>
          <option value="read">{words.form.read}</option>
        </select>
      </label>
      <ProjectLimitFields projects={useQuery(projectsQuery(team.id)).data ?? []} />
      <ToolsetChoice />
      <Select
        label={words.form.expires}
        name="days"
        defaultValue={90}
        options={DAYS.map((days) => ({ value: days, label: words.form.days(days) }))}
      />
      {create.error && <ProblemBox error={create.error} />}
      <button type="submit" className="btn main" disabled={create.isPending}>
        {words.create}
      </button>
    </form>
  )
}

function AgentChoice({ team, agentId }: { team: string; agentId?: string }) {
  const agents = useQuery(agentsQuery(team)).data ?? []
  return (
    <Select
      label={words.form.agent}
      name="agent"
      defaultValue={agentId}
      key={agents.length}
      none={words.form.ownAgent}
      options={agents.map((agent) => ({ value: agent.id, label: agent.name }))}
    />
  )
}

function ToolsetChoice() {
  const sets = useQuery(toolsetsQuery).data
  return (
    <label className="field">
      <span>{words.form.toolset}</span>
      <select className="input" name="toolset" aria-describedby="toolset-hint">
        <option value="">{sets && words.form.all(sets.all.count, sets.all.tokens)}</option>
        {sets?.items.map(({ name, count, tokens }) => (
          <option key={name} value={name}>
            {words.form.set(name, count, tokens)}
          </option>
        ))}
      </select>
      <small id="toolset-hint" className="t12 soft">
        {words.form.toolsetHint}
      </small>
    </label>
  )
}
