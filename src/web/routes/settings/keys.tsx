import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import type { ApiKey, ApiKeyCreate } from '../../../features/tokens/schema.ts'
import { projectsQuery } from '../../account/session.ts'
import { newIdempotencyKey, ok, tokens, writeOptions } from '../../api.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Field, Select } from '../../components/form/fields.tsx'
import { describeProjectLimit, ProjectLimitFields, readProjectLimit } from '../../components/form/project-limit.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { Section } from '../../components/section.tsx'
import { ago, day } from '../../lib/times.ts'
import { Form, ItemLine, ItemList, SettingsSheet } from './parts.tsx'
import { keysQuery, useSettingsChange } from './queries.ts'
import { titles, keyWords as w, words } from './words.ts'

const isAlive = ({ revokedAt, expiresAt }: ApiKey): boolean => !revokedAt && Date.parse(expiresAt) > Date.now()
const days = [30, 90, 365]

export function Settings() {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(keysQuery)
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const revoke = useSettingsChange((id: string) => ok(tokens.settings['api-keys']({ id }).delete()))
  const [ask, asked] = useRemoval(revoke, ({ id, name }: ApiKey) => ({
    input: id,
    title: w.confirm(name),
    text: w.confirmText,
    verb: w.revoke,
    cancel: words.cancel,
  }))
  return (
    <SettingsSheet
      title={titles.keys}
      about={
        <>
          {w.about} <Link to="/tokens">{w.tokens}</Link>
        </>
      }
    >
      <ItemList
        items={data?.filter(isAlive)}
        error={error}
        label={titles.keys}
        item={(key) => (
          <>
            <ItemLine
              name={key.name}
              facts={[
                `${key.prefix}…${key.last4}`,
                describeProjectLimit(key.projects, projects),
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
    </SettingsSheet>
  )
}

/** The secret is shown once: the form comes back when the person says that they stored it. */
function Create({ team, projects }: { team: string; projects: readonly { id: string; name: string }[] }) {
  const [key, setKey] = useState(newIdempotencyKey)
  const create = useSettingsChange((input: ApiKeyCreate) =>
    ok(tokens.settings['api-keys'].post(input, writeOptions(undefined, key))),
  )
  const done = () => {
    create.reset()
    setKey(newIdempotencyKey())
  }
  if (create.data?.token) return <SecretOnce text={create.data.token} onStored={done} />
  return (
    <Section title={w.create}>
      <Form
        verb={w.create}
        busy={create.isPending}
        error={create.error}
        onSave={({ name = '', scope, days }, form) => {
          const limit = readProjectLimit(form)
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
        <ProjectLimitFields projects={projects} />
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

export function SecretOnce({ text, onStored }: { text: string; onStored(): void }) {
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
