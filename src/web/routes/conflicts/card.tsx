/** One conflict: what it is about, its values, and the choices. */
import { Link } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import type { Conflict } from '../../../features/sync/schema.ts'
import { kinds } from '../../../records/names.ts'
import { TextArea } from '../../components/form/fields.tsx'
import { ProblemBox, Skeleton } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { lazy } from '../../lib/lazy.ts'
import { ago } from '../../lib/times.ts'
import { useResolveConflict } from './queries.ts'
import { words } from './words.ts'

const Diff = lazy(async () => ({ default: (await import('../../components/text/diff.tsx')).Diff }))

export function ConflictCard({ conflict }: { conflict: Conflict }) {
  const { id, entity, kind, field, device, createdAt, title } = conflict
  const { mutateAsync, error, isPending } = useResolveConflict(id)
  const [isWriting, setWriting] = useState(false)
  const name = title ?? words.gone
  // Not with `mutate`, which skips the callbacks of a card that is gone.
  const decide = (how: Parameters<typeof mutateAsync>[0]) =>
    void mutateAsync(how).then(
      () => toast({ title: words.resolved(name) }),
      () => undefined,
    )
  return (
    <section className="sheet pad stack s4 conflict" aria-label={words.about(conflict, name)}>
      <header>
        <h2 className="h2 row tight">
          <span className="flag">{entity}</span>
          <ConflictTitle conflict={conflict} name={name} />
        </h2>
        <p className="soft">
          {words.kinds[kind](field ?? '')} {words.from(device.name, ago(createdAt))}
        </p>
      </header>
      <Values conflict={conflict} label={words.values(conflict, name)} />
      {error && <ProblemBox error={error} />}
      {isWriting ? (
        <ValueForm
          first={String(conflict.mine ?? '')}
          busy={isPending}
          onSave={(value) => decide({ choice: 'value', value })}
          onEnd={() => setWriting(false)}
        />
      ) : (
        <footer className="row wrap">
          {(['mine', 'server'] as const).map((choice) => (
            <button key={choice} type="button" className="btn" disabled={isPending} onClick={() => decide({ choice })}>
              {words.choices[kind][choice]}
            </button>
          ))}
          {kind === 'field' && isText(conflict) && (
            <button type="button" className="btn quiet" onClick={() => setWriting(true)}>
              {words.edit}
            </button>
          )}
        </footer>
      )}
    </section>
  )
}

/** The record's title, as a link where its kind has pages. */
function ConflictTitle({ conflict: { entity, recordId, title }, name }: { conflict: Conflict; name: string }) {
  const info = Object.entries(kinds).find(([kind]) => kind === entity)?.[1]
  const path: string | undefined = info && 'path' in info ? `${info.path}/${recordId}` : undefined
  return title !== null && path ? (
    <Link className="quietlink cut" to={path}>
      {name}
    </Link>
  ) : (
    <span className="cut">{name}</span>
  )
}

/** Whether all values are texts, so that a person can write another one. */
const isText = ({ mine, server }: Conflict): boolean =>
  [mine, server].every((value) => value === null || typeof value === 'string')

/** A value as people read it. */
const valueText = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return ''
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

/** What people do not write: ids, times and numbers of versions. */
const isTechnical = (field: string): boolean => /^(id|version|kind)$|(Id|At)$/.test(field)

/** The fields of a record that say something. */
function Fields({ of, title }: { of: unknown; title: string }) {
  const fields = Object.entries((of ?? {}) as Record<string, unknown>)
    .map(([name, value]) => [name, isTechnical(name) ? '' : valueText(value)] as const)
    .filter(([, text]) => text !== '' && text !== '[]')
  return (
    <div className="stack">
      <p className="t12 soft">{title}</p>
      <dl className="diff">
        {fields.map(([name, text]) => (
          <div key={name} className="dr">
            <dt className="soft">{name}</dt>
            <dd className="prewrap">{text}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

/** Shows both values. If one side deleted the record, there is nothing to compare: only the other side is shown. */
function Values({ conflict: { kind, base, server, mine }, label }: { conflict: Conflict; label: string }) {
  const texts = { server: valueText(server), mine: valueText(mine) }
  if (kind === 'deleted') return <Fields of={mine} title={words.mine} />
  if (kind === 'delete') return <Fields of={server} title={words.server} />
  return (
    <>
      <details>
        <summary className="soft t12">{words.base}</summary>
        <pre className="code">{valueText(base) || words.empty}</pre>
      </details>
      <Suspense fallback={<Skeleton />}>
        <Diff before={texts.server} after={texts.mine} names={[words.server, words.mine]} label={label} />
      </Suspense>
    </>
  )
}

interface WritingProps {
  first: string
  busy: boolean
  onSave(value: string): void
  onEnd(): void
}

function ValueForm({ first, busy, onSave, onEnd }: WritingProps) {
  const [text, setText] = useState(first)
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        onSave(text)
      }}
    >
      <TextArea
        label={words.value}
        rows={Math.min(12, text.split('\n').length + 1)}
        value={text}
        ref={(field) => field?.focus()}
        onText={setText}
      />
      <span className="row">
        <button type="submit" className="btn main" disabled={busy}>
          {words.save}
        </button>
        <button type="button" className="btn quiet" onClick={onEnd}>
          {words.cancel}
        </button>
      </span>
    </form>
  )
}
