/** Parts of the list of tunnels and of the page of one. */
import { Suspense, useState } from 'react'
import type { Tunnel } from '../../../features/tunnels/schema.ts'
import { toast } from '../../components/toasts.tsx'
import { lazy } from '../../lib/lazy.ts'
import { words as common } from '../../words.ts'
import { useTunnelChange } from './queries.ts'
import { words } from './words.ts'

const Confirm = lazy(async () => ({ default: (await import('../../components/form/confirm.tsx')).Confirm }))
export const statusTones: Record<Tunnel['status'], string> = {
  pending: '',
  connecting: '',
  online: 'good',
  offline: 'warn',
}

export function ServiceList({ tunnel: { services } }: { tunnel: Tunnel }) {
  if (services.length === 0) return <p className="soft">{words.noServices}</p>
  return (
    <ul className="services" aria-label={words.services}>
      {services.map(({ name, url, who, ok }) => (
        <li key={name}>
          <b className="b5 t13">{name}</b>
          {url === null ? (
            <span className="t12 soft grow">{words.noAddress}</span>
          ) : (
            <a className="mono t12 grow cut" href={url} target="_blank" rel="noreferrer">
              {url}
            </a>
          )}
          {ok === false && <span className="flag warn">{words.down}</span>}
          <span className="t12 soft">{words.for(who.join(', '))}</span>
        </li>
      ))}
    </ul>
  )
}

export function TunnelControls({ tunnel, onRemoved }: { tunnel: Tunnel; onRemoved?(): Promise<void> }) {
  const { update, remove } = useTunnelChange(tunnel, onRemoved)
  const [isAsked, setAsked] = useState(false)
  const onError = (error: Error) => toast({ title: words.failed, text: error.message, bad: true })
  return (
    <div className="row wrap">
      <label className="row tight">
        <span className="t12 soft">{words.access}</span>
        <select
          className="input slim"
          value={tunnel.access}
          disabled={update.isPending}
          onChange={(event) => update.mutate({ access: event.currentTarget.value as Tunnel['access'] }, { onError })}
        >
          {Object.entries(words.accesses).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <span className="row end">
        <button
          type="button"
          className="btn small"
          disabled={update.isPending}
          onClick={() => update.mutate({ paused: !tunnel.paused }, { onError })}
        >
          {tunnel.paused ? words.resume : words.pause}
        </button>
        <button type="button" className="btn small danger" onClick={() => setAsked(true)}>
          {words.remove}
        </button>
      </span>
      {isAsked && (
        <Suspense>
          <Confirm
            title={words.removeOne(tunnel.name)}
            verb={words.remove}
            cancel={common.cancel}
            busy={remove.isPending}
            error={remove.error}
            onConfirm={() => remove.mutate(undefined, { onSuccess: () => setAsked(false) })}
            onClose={() => setAsked(false)}
          >
            <p>{words.removeText}</p>
          </Confirm>
        </Suspense>
      )}
    </div>
  )
}
