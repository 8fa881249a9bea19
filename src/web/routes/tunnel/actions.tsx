/** What the machine allows the reader, each with a form that is made from its schema. */
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { OfferedAction } from '../../../features/tunnels/actions/action-schema.ts'
import type { Tunnel } from '../../../features/tunnels/schema.ts'
import { Section } from '../../components/section.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { type ActionField, actionFields, readParams } from './form.ts'
import { actionsQuery, useRunAction } from './queries.ts'
import { actionName, words } from './words.ts'

export function TunnelActions({ tunnel, onRun }: { tunnel: Tunnel; onRun(actionId: string): void }) {
  const { data, error } = useQuery(actionsQuery(tunnel.id))
  const items = data?.items.filter(({ type }) => type !== 'cancel') ?? []
  return (
    <Section title={words.actions} n={data ? items.length : undefined}>
      <div className="stack">
        <p className="soft t12">{words.actionsAbout}</p>
        {error && !data && <ProblemBox error={error} />}
        {items.length > 0 && (
          <ul className="sheet pad stack">
            {items.map((action) => (
              <li key={`${action.type} ${action.name}`}>
                <Action tunnel={tunnel} action={action} onRun={onRun} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </Section>
  )
}

interface Props {
  tunnel: Tunnel
  action: OfferedAction
  onRun(actionId: string): void
}

function Action({ tunnel, action, onRun }: Props) {
  const act = useRunAction(tunnel.id)
  const fields = actionFields(action.schema)
  const [problem, setProblem] = useState<string>()
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const params = readParams(action.schema, fields, new FormData(event.currentTarget))
    setProblem(params ? undefined : words.notJson)
    if (params) act.mutate({ type: action.type, params }, { onSuccess: ({ id }) => onRun(id) })
  }
  const name = actionName(action)
  return (
    <form className="stack s1" aria-label={name} onSubmit={submit}>
      <div className="row wrap">
        <span className="grow">
          <b className="b5">{name}</b> <span className="soft">{action.description}</span>
        </span>
        {action.confirm && <span className="flag">{words.asks}</span>}
        <button type="submit" className="btn small" disabled={act.isPending} aria-label={`${words.run} ${name}`}>
          {words.run}
        </button>
      </div>
      {fields.length > 0 && (
        <div className="row wrap">
          {fields.map((field) => (
            <FieldInput key={field.name} field={field} />
          ))}
        </div>
      )}
      {problem && (
        <p className="bad t12" role="alert">
          {problem}
        </p>
      )}
      {act.error && <ProblemBox error={act.error} />}
    </form>
  )
}

function FieldInput({ field }: { field: ActionField }) {
  const id = useId()
  return (
    <span className="row tight">
      <label className="t12 soft" htmlFor={id}>
        {field.label}
      </label>
      <Control id={id} field={field} />
    </span>
  )
}

function Control({ id, field }: { id: string; field: ActionField }) {
  const { name, kind, values, isRequired, description } = field
  const common = { id, name, required: isRequired, className: 'input slim', title: description }
  if (kind === 'flag') return <input id={id} type="checkbox" name={name} />
  if (kind === 'json') return <textarea {...common} className="input mono" rows={3} placeholder="{}" />
  if (kind !== 'choice')
    return (
      <input
        {...common}
        type={kind === 'secret' ? 'password' : kind}
        autoComplete="off"
        maxLength={field.maxLength}
        min={field.minimum}
        max={field.maximum}
      />
    )
  return (
    <select {...common}>
      {!isRequired && <option value="">{words.choose}</option>}
      {values.map((value) => (
        <option key={value}>{value}</option>
      ))}
    </select>
  )
}
