/** A spec: its text, its versions, what changed between two of them, and the next version as it is written. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import type { SpecDetail } from '../../../features/specs/schema.ts'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { Kbd, useSetStatusBar, useStatusBarLeft } from '../../components/status-bar.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { lazy } from '../../lib/lazy.ts'
import { useKey } from '../../shortcuts.ts'
import { specQuery, useReviseSpec, versionQuery } from './queries.ts'
import { SpecFields, SpecVersions } from './side.tsx'
import { words } from './words.ts'

const route = getRouteApi('/inside/specs/$id')
const Diff = lazy(async () => ({ default: (await import('../../components/text/diff.tsx')).Diff }))
const Writing = lazy(async () => ({ default: (await import('./spec-editor.tsx')).SpecEditor }))

const keys = (
  <span className="row">
    <Kbd>e</Kbd>
    {words.keys.edit}
  </span>
)

export function SpecPage() {
  const { id } = route.useParams()
  const { data: spec } = useSuspenseQuery(specQuery(id))
  return <Body key={spec.id} spec={spec} />
}

function Body({ spec }: { spec: SpecDetail }) {
  const { from, to } = route.useSearch()
  const revise = useReviseSpec(spec.id)
  const set = useSetStatusBar()
  const [isWriting, setWriting] = useState(false)
  const may = spec.can.update === true
  useCrumbs({ label: words.specs, to: '/specs' }, { label: spec.title, record: spec.id })
  useKey('e', () => may && setWriting(true), may ? { label: words.keys.edit } : {})
  useStatusBarLeft(may ? keys : null)
  const save = (patch: Omit<Parameters<typeof revise.mutate>[0], 'base'>) =>
    revise.mutate(
      { ...patch, base: spec.version },
      { onSuccess: ({ version }) => set({ right: words.saved(version) }) },
    )
  const wide = isWriting || from !== undefined
  return (
    <section className="panel whole" aria-label={spec.title}>
      <div className={wide ? 'body wider' : 'body'}>
        <div className="txt">
          <header className="row wide">
            <h1 className="h1 grow">{spec.title}</h1>
            {may && !isWriting && (
              <button type="button" className="btn small" onClick={() => setWriting(true)}>
                {words.edit}
              </button>
            )}
          </header>
          {revise.error && <ProblemBox error={revise.error} />}
          <Suspense fallback={<Waiting />}>
            {isWriting ? (
              <Writing spec={spec} onEnd={() => setWriting(false)} />
            ) : (
              <Shown spec={spec} from={from} to={to} may={may} onRestore={save} busy={revise.isPending} />
            )}
          </Suspense>
        </div>
        <SpecFields spec={spec} onStatus={(status) => save({ status })}>
          <SpecVersions spec={spec} />
        </SpecFields>
      </div>
    </section>
  )
}

interface ShownProps {
  spec: SpecDetail
  from: number | undefined
  to: number | undefined
  may: boolean
  busy: boolean
  onRestore(patch: { title: string; content: string; message: string }): void
}

/** The text as it is, as it was, or what changed between two versions. */
function Shown({ spec, from, to, may, busy, onRestore }: ShownProps) {
  const at = to ?? spec.version
  const later = useQuery({ ...versionQuery(spec.id, at), enabled: from !== undefined || at !== spec.version })
  const earlier = useQuery({ ...versionQuery(spec.id, from ?? 1), enabled: from !== undefined })
  if (from === undefined && at === spec.version) return <Markdown text={spec.content} title={spec.title} />
  const error = later.error ?? earlier.error
  if (error) return <ProblemBox error={error}>{<Back />}</ProblemBox>
  if (!later.data || (from !== undefined && !earlier.data)) return <Waiting />
  const { title, content } = later.data
  const restore = may && at !== spec.version && (
    <button
      type="button"
      className="btn small"
      disabled={busy}
      onClick={() => onRestore({ title, content, message: words.restoreMessage(at) })}
    >
      {words.restore(at)}
    </button>
  )
  if (from === undefined)
    return (
      <>
        <div className="row wrap banner">
          <span className="grow">{words.reading(at, spec.version)}</span>
          {restore}
          <Back />
        </div>
        <Markdown text={content} title={spec.title} />
      </>
    )
  return (
    <>
      <div className="row wrap banner">
        <b className="b5 grow">{words.comparing(from, at)}</b>
        <Choose spec={spec} from={from} to={at} />
        {restore}
        <Back />
      </div>
      {earlier.data && earlier.data.title !== title && (
        <p className="soft">{words.titleChanged(earlier.data.title, title)}</p>
      )}
      <Diff before={earlier.data?.content ?? ''} after={content} names={[words.version(from), words.version(at)]} />
    </>
  )
}

const Back = () => (
  <Link className="btn small quiet" from="/specs/$id" to="." search={({ team }) => ({ team })}>
    {words.back}
  </Link>
)

/** Which two versions are compared. */
function Choose({ spec, from, to }: { spec: SpecDetail; from: number; to: number }) {
  const navigate = route.useNavigate()
  const all = Array.from({ length: spec.version }, (_, place) => spec.version - place)
  const pick = (name: 'from' | 'to', label: string, chosen: number) => (
    <label className="row tight t12">
      {label}
      <select
        className="input slim pick"
        value={chosen}
        onChange={({ currentTarget: { value } }) =>
          void navigate({ search: (before) => ({ ...before, from, to, [name]: Number(value) }) })
        }
      >
        {all.map((n) => (
          <option key={n} value={n}>
            {n}
          </option>
        ))}
      </select>
    </label>
  )
  return (
    <>
      {pick('from', words.from, from)}
      {pick('to', words.to, to)}
    </>
  )
}
