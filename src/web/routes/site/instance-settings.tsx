/** Settings of the instance, one form for each key. What the environment decides can only be read. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { ChevronRight } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import type { Setting, SettingField } from '../../../features/settings/schema.ts'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useAdminChange } from '../admin/queries.ts'
import { PictureField } from './picture.tsx'
import { PlanTable } from './plan-table.tsx'
import { changeSetting, settingsQuery, testMail } from './queries.ts'
import { words } from './words.ts'

const w = words.settings

export function InstanceSettings() {
  const { data, error } = useQuery(settingsQuery)
  return (
    <section className="stack s4">
      <h2 className="h2">{w.title}</h2>
      <p className="soft">{w.intro}</p>
      {error && <ProblemBox error={error} />}
      {!data && !error && <Waiting />}
      {data && (
        <div className="sheet">
          {data.items.map((setting) => (
            <Key key={`${setting.key} ${setting.version}`} setting={setting} />
          ))}
        </div>
      )}
      <TestMail />
    </section>
  )
}

function TestMail() {
  const send = useMutation({ mutationFn: testMail })
  const said = ({ mode, delivered, error }: { mode: string; delivered: boolean; error: string | null }) =>
    delivered ? w.sent : mode === 'outbox' ? w.kept : w.failed(error ?? '')
  return (
    <p className="row wraps">
      <button type="button" className="btn" disabled={send.isPending} onClick={() => send.mutate('')}>
        {w.mail}
      </button>
      <span role="status">{send.data && said(send.data)}</span>
      {send.error && <ProblemBox error={send.error} />}
    </p>
  )
}

/** Only fields that differ are sent; an empty one returns to its default. */
function changesOf({ fields, values }: Setting, form: FormData): Record<string, unknown> {
  const patch: Record<string, unknown> = {}
  for (const { name, type, fixedBy } of fields) {
    if (fixedBy) continue
    const text = String(form.get(name) ?? '').trim()
    const value =
      type === 'flag'
        ? form.has(name)
        : type === 'list'
          ? text.split(',').flatMap((part) => part.trim() || [])
          : type === 'table'
            ? (JSON.parse(text) as unknown)
            : type === 'time' && text
              ? new Date(text).toISOString()
              : text || null
    if (type === 'secret' ? text !== '' : JSON.stringify(value) !== JSON.stringify(values[name])) patch[name] = value
  }
  return patch
}

function Key({ setting }: { setting: Setting }) {
  const save = useAdminChange(changeSetting)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const patch = changesOf(setting, new FormData(event.currentTarget))
    if (Object.keys(patch).length === 0) return
    const { key, version } = setting
    // Not with `mutate`, which skips the callbacks of a component that is gone: the new version replaces this form.
    void save.mutateAsync({ key, patch, version }).then(
      () => toast({ title: `${w.saved}: ${key}` }),
      () => undefined,
    )
  }
  return (
    <details className="prow padx">
      <summary className="row">
        <ChevronRight className="i s14" aria-hidden />
        <span className="grow">
          <b className="b5">{setting.about}</b> <span className="soft mono t12">{setting.key}</span>
        </span>
      </summary>
      <form className="stack s4 pad" onSubmit={submit}>
        {setting.fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            id={`${setting.key}-${field.name}`}
            value={setting.values[field.name]}
          />
        ))}
        {save.error && <ProblemBox error={save.error} />}
        <p>
          <button
            type="submit"
            className="btn main"
            aria-label={w.saveOf(setting.key)}
            disabled={save.isPending || setting.fields.every(({ fixedBy }) => fixedBy)}
          >
            {w.save}
          </button>
        </p>
      </form>
    </details>
  )
}

interface FieldProps {
  field: SettingField
  id: string
  value: unknown
}

function Field({ field, id, value }: FieldProps) {
  const { name, about, type, fixedBy } = field
  if (type === 'table')
    return (
      <div className="stack s2">
        <p className="t12 soft">{about}</p>
        <PlanTable name={name} value={value} />
      </div>
    )
  if (name === 'imageId') return <PictureSetting field={field} value={value} />
  const hints = [
    about,
    field.public ? `(${w.public})` : '',
    type === 'list' ? w.list : '',
    type === 'secret' ? w.secret((value as { last4: string | null }).last4) : '',
    fixedBy ? w.fixed(fixedBy) : '',
  ]
  return (
    <div className={type === 'flag' ? 'stack s1' : 'field'}>
      <label className={type === 'flag' ? 'row t13' : 'b5'} htmlFor={id}>
        {type === 'flag' && <Input {...{ field, id, value }} />}
        <span>{w.fieldOf(name)}</span>
      </label>
      {type !== 'flag' && <Input {...{ field, id, value }} />}
      <p className="t12 soft" id={`${id}-about`}>
        {hints.filter(Boolean).join(' ')}
      </p>
    </div>
  )
}

/** A picture, whose id is what is stored. */
function PictureSetting({ field: { name }, value }: Omit<FieldProps, 'id'>) {
  const [picture, setPicture] = useState(typeof value === 'string' ? value : null)
  return (
    <>
      <input type="hidden" name={name} value={picture ?? ''} />
      <PictureField label={w.image} id={picture} alt={null} onChange={setPicture} />
    </>
  )
}

function Input({ field: { name, type, choices, fixedBy }, id, value }: FieldProps) {
  const common = { id, name, disabled: fixedBy !== null, 'aria-describedby': `${id}-about` }
  if (type === 'flag') return <input {...common} type="checkbox" defaultChecked={value === true} />
  if (type === 'choice')
    return (
      <select {...common} className="input" defaultValue={String(value)}>
        {choices?.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    )
  if (type === 'secret') return <input {...common} className="input" type="password" autoComplete="off" />
  const text = Array.isArray(value) ? value.join(', ') : String(value ?? '')
  if (type === 'time')
    return <input {...common} className="input" defaultValue={text} placeholder="2026-12-24T09:00Z" />
  return <input {...common} className="input" defaultValue={text} />
}
