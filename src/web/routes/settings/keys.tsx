import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import type { ApiKey, ApiKeyCreate } from '../../../features/tokens/schema.ts'
import { change, newKey, ok, tokens } from '../../api.ts'
import { CopyButton } from '../../components/copy.tsx'
import { Field, Select } from '../../components/form/fields.tsx'
import { limitIn, limitText, ProjectLimit } from '../../components/project-limit.tsx'
import { useRemoval } from '../../components/removal.tsx'
import { Section } from '../../components/section.tsx'
import { projectsQuery } from '../../session.ts'
import { ago, day } from '../../times.ts'
import { Form, Items, Line, Page } from './parts.tsx'
import { keysQuery, useChange } from './queries.ts'
import { titles, keyWords as w, words } from './words.ts'

const isAlive = ({ revokedAt, expiresAt }: ApiKey): boolean => !revokedAt && Date.parse(expiresAt) > Date.now()
const days = [30, 90, 365]

export function Settings() {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(keysQuery)
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const revoke = useChange((id: string) => ok(tokens.settings['api-keys']({ id }).delete()))
  const [ask, asked] = useRemoval(revoke, ({ id, name }: ApiKey) => ({
    input: id,
    title: w.confirm(name),
    text: w.confirmText,
    verb: w.revoke,
    cancel: words.cancel,
  }))
  return (
    <Page
      title={titles.keys}
      about={
        <>
          {w.about} <Link to="/tokens">{w.tokens}</Link>
        </>
      }
    >
      <Items
        items={data?.filter(isAlive)}
        error={error}
        label={titles.keys}
        item={(key) => (
          <>
            <Line
              name={key.name}
              facts={[
                `${key.prefix}…${key.last4}`,
                limitText(key.projects, projects),
                key.lastUsedAt ? words.used(ago(key.lastUsedAt)) : words.never,
                words.until(day(key.expiresAt)),
              ]}
            />
            <button type="button" className="btn small" aria-label={`${w.revoke} ${key.name}`} onClick={() => ask(key)}>
              {w.revoke}
            </button>
          </>
        )}
      />
      <Create team={team.id} projects={projects} />
      {asked}
    </Page>
  )
}

/** The secret is shown once: the form comes back when the person says that they stored it. */
function Create({ team, projects }: { team: string; projects: readonly { id: string; name: string }[] }) {
  const [key, setKey] = useState(newKey)
  const create = useChange((input: ApiKeyCreate) => ok(tokens.settings['api-keys'].post(input, change(undefined, key))))
  const done = () => {
    create.reset()
    setKey(newKey())
  }
  if (create.data?.token) return <Secret text={create.data.token} onStored={done} />
  return (
    <Section title={w.create}>
      <Form
        verb={w.create}
        busy={create.isPending}
        error={create.error}
        onSave={({ name = '', scope, days }, form) => {
          const limit = limitIn(form)
          create.mutate({
            name: name.trim(),
            scopes: [scope === 'read' ? 'read' : 'write'],
            expiresInDays: Number(days),
            ...(limit && { projects: limit, organizationId: team }),
          })
        }}
      >
        <Field label={words.name} name="name" required maxLength={100} placeholder={w.placeholder} />
        <Select
          label={w.scope}
          name="scope"
          defaultValue="write"
          options={(['read', 'write'] as const).map((value) => ({ value, label: w.scopes[value] }))}
        />
        <ProjectLimit projects={projects} />
        <Select
          label={w.days}
          name="days"
          defaultValue="90"
          options={days.map((n) => ({ value: String(n), label: w.inDays(n) }))}
        />
      </Form>
    </Section>
  )
}

export function Secret({ text, onStored }: { text: string; onStored(): void }) {
  const shown = useRef<HTMLElement>(null)
  return (
    <section className="sheet pad stack" aria-label={w.secret}>
      <b className="b5">{w.once}</b>
      <div className="secret">
        <code className="mono grow" ref={shown}>
          {text}
        </code>
        <CopyButton text={text} source={shown} name={w.secret} />
      </div>
      <p>
        <button type="button" className="btn main" onClick={onStored}>
          {w.stored}
        </button>
      </p>
    </section>
  )
}
