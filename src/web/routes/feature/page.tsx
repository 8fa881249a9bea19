/** A feature: its progress through the gates, what the next gate requires, and the actions. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { BookOpenText, Ellipsis } from 'lucide-react'
import { Suspense, useId, useState } from 'react'
import type { FeatureView } from '../../../features/workflow/schema.ts'
import { Avatar, LeaseRing } from '../../components/avatar.tsx'
import { PriorityGlyph, StatusGlyph } from '../../components/glyphs.tsx'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import { isLocked, LockedButton } from '../../components/locked-button.tsx'
import { SaveError } from '../../components/states.tsx'
import { KeyHint, useStatusBarLeft } from '../../components/status-bar.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { toast } from '../../components/toasts.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { lazy } from '../../lib/lazy.ts'
import { day, shareLeft } from '../../lib/times.ts'
import {
  featureAdvanced,
  featureCreated,
  featureEvidenceMissing,
  featureOverridden,
  featureReviewed,
} from '../../live/event-types.ts'
import { useIsAway } from '../../live/state.ts'
import { useKey } from '../../shortcuts.ts'
import { words as common, priorityNames, statusNames } from '../../words.ts'
import { FocusedTaskKeys } from '../task/focused-task-keys.tsx'
import { FeatureHistory, RelatedRecords } from './history.tsx'
import { MissingItems } from './missing-items.tsx'
import { type FeatureActMutation, featureHistoryQuery, featureQuery, restoreFeature, useFeatureAct } from './queries.ts'
import { Reviews } from './reviews.tsx'
import { currentEvidence, nextGate } from './track.ts'
import { humanizeName, words } from './words.ts'
import { WorkflowTrack } from './workflow-track.tsx'

const dialogs = () => import('./dialogs.tsx')
const EvidenceDialog = lazy(async () => ({ default: (await dialogs()).EvidenceDialog }))
const OverrideDialog = lazy(async () => ({ default: (await dialogs()).OverrideDialog }))
const EditDialog = lazy(async () => ({ default: (await dialogs()).EditDialog }))

type Shown = 'evidence' | 'override' | 'edit' | undefined

const keysHere = (
  <>
    <KeyHint keys="v" text={words.keys.verify} />
    <KeyHint keys="e" text={words.keys.evidence} />
    <KeyHint keys="r" text={words.keys.review} />
  </>
)

export function FeaturePage() {
  const { id } = useParams({ strict: false })
  const { data: feature } = useSuspenseQuery(featureQuery(id ?? ''))
  const happened = useQuery(featureHistoryQuery(feature.id)).data ?? []
  const act = useFeatureAct(feature)
  const [shown, setShown] = useState<Shown>()
  const gate = nextGate(feature)
  const missing = feature.next?.missing ?? []
  const waiting = missing.some(({ item }) => item === 'review')
  const takesEvidence = feature.can.advance === true && typeof gate === 'string' && gate !== 'review'
  const addEvidence = takesEvidence ? () => setShown('evidence') : undefined
  const { slug, name } = feature.project
  useCrumbs(
    { label: name, to: `/projects/${slug}` },
    { label: words.features, to: `/projects/${slug}/features` },
    { label: feature.title, record: feature.id },
  )
  useStatusBarLeft(keysHere)
  useKey('e', () => addEvidence?.(), { label: words.keys.evidence })
  useKey('r', () => document.getElementById('verdict')?.focus(), { label: words.keys.review })
  const verifyLast = () => {
    const open = currentEvidence(feature).findLast(({ level }) => level !== 'verified' && level !== 'missing')
    if (open && feature.can.verify === true) act.mutate({ do: 'verify', evidenceId: open.id })
  }
  useKey('v', verifyLast, { label: words.keys.verify })
  // Forms show their own refusals.
  const quiet = shown !== undefined || act.variables?.do === 'review'
  return (
    <div className="scroll">
      <div className="page wide stack s5 feat">
        <Head feature={feature} act={act} onShow={setShown} />
        {act.error && !quiet && <SaveError error={act.error} conflict={words.metOther} />}
        <WorkflowTrack feature={feature} act={act} since={movedAt(happened)} />
        <div className="cols-2">
          <div className="stack s5">
            <MissingItems feature={feature} gate={gate} onEvidence={addEvidence} />
            {feature.description && (
              <section className="sheet pad stack" aria-label={words.description}>
                <h2 className="h2">{words.description}</h2>
                <Markdown text={feature.description} />
              </section>
            )}
            <FeatureHistory feature={feature} happened={happened} />
          </div>
          <div className="stack s5">
            <Reviews feature={feature} act={act} waiting={waiting} />
            <Tasks feature={feature} />
            <RelatedRecords feature={feature} />
          </div>
        </div>
      </div>
      <Suspense>
        {shown === 'evidence' && gate && (
          <EvidenceDialog feature={feature} act={act} gate={gate} onClose={() => setShown(undefined)} />
        )}
        {shown === 'override' && <OverrideDialog feature={feature} act={act} onClose={() => setShown(undefined)} />}
        {shown === 'edit' && <EditDialog feature={feature} act={act} onClose={() => setShown(undefined)} />}
      </Suspense>
    </div>
  )
}

const moves = new Set<string>([
  featureCreated,
  featureAdvanced,
  featureReviewed,
  featureOverridden,
  featureEvidenceMissing,
])
/** When it came to the state that it is in. */
const movedAt = (happened: readonly { type: string; at: string }[]): string | undefined =>
  happened.find(({ type }) => moves.has(type))?.at

interface HeadProps {
  feature: FeatureView
  act: FeatureActMutation
  onShow(shown: Shown): void
}

function Head({ feature, act, onShow }: HeadProps) {
  return (
    <header className="row wide wrap">
      <div className="grow fhead">
        <div className="row t12 soft wrap">
          <Link to="/projects/$slug/features" params={{ slug: feature.project.slug }}>
            {feature.project.name}
          </Link>
          <span aria-hidden>·</span>
          <span>{words.kinds[feature.kind]}</span>
          <PriorityGlyph priority={feature.priority} />
          <span>{priorityNames[feature.priority]}</span>
          {feature.assignee && (
            <>
              <span aria-hidden>·</span>
              <span className="row tight">
                <Avatar party={feature.assignee} />
                {feature.assignee.name}
              </span>
            </>
          )}
          <span aria-hidden>·</span>
          <span>{words.opened(day(feature.createdAt))}</span>
          {feature.spec && (
            <>
              <span aria-hidden>·</span>
              <Link className="row tight" to="/specs/$id" params={{ id: feature.spec.id }}>
                <BookOpenText className="i s14" aria-hidden />
                {words.spec(feature.spec.title, feature.spec.version)}
              </Link>
            </>
          )}
        </div>
        <h1 className="h1">{feature.title}</h1>
      </div>
      <MoreMenu feature={feature} act={act} onShow={onShow} />
      {feature.can.override === true && (
        <button type="button" className="btn" onClick={() => onShow('override')}>
          {words.override}
        </button>
      )}
      <AdvanceButton feature={feature} act={act} />
    </header>
  )
}

function MoreMenu({ feature, act, onShow }: Pick<HeadProps, 'feature' | 'act' | 'onShow'>) {
  const navigate = useNavigate()
  const entries = [
    ...(feature.can.update === true ? [{ value: 'edit', label: words.edit }] : []),
    ...(feature.can.remove === true ? [{ value: 'remove', label: words.remove, danger: true }] : []),
  ]
  if (entries.length === 0) return null
  const removed = () => {
    const undo = () =>
      void restoreFeature(feature.id).catch((error: Error) => toast({ title: error.message, bad: true }))
    toast({ title: words.removed, text: feature.title, action: { label: words.undo, run: undo } })
    void navigate({ to: '/projects/$slug/features', params: { slug: feature.project.slug } })
  }
  return (
    <LazyMenu
      trigger={
        <button type="button" className="ib" aria-label={words.more}>
          <Ellipsis className="i" aria-hidden />
        </button>
      }
      entries={entries}
      onChoose={(chosen) => (chosen === 'edit' ? onShow('edit') : act.mutate({ do: 'remove' }, { onSuccess: removed }))}
    />
  )
}

/** Locked until nothing is missing: the list below says what supplies each item. */
function AdvanceButton({ feature: { next, can }, act }: Pick<HeadProps, 'feature' | 'act'>) {
  const reason = useId()
  const isAway = useIsAway()
  if (!next || (can.advance !== true && !isLocked(can.advance))) return null
  const label = words.advance(humanizeName(next.to))
  const missing = next.missing.length > 0 && words.lockedBy(next.missing.map(({ needs }) => needs))
  const why = isAway ? common.needsConnection : can.advance === true ? missing : can.advance.detail
  if (why)
    return (
      <>
        <LockedButton reason={reason} title={why}>
          {label}
        </LockedButton>
        <span className="hide" id={reason}>
          {why}
        </span>
      </>
    )
  return (
    <button
      type="button"
      className="btn main"
      disabled={act.isPending}
      onClick={() => act.mutate({ do: 'advance', body: {} })}
    >
      {label}
    </button>
  )
}

function Tasks({ feature: { tasks } }: { feature: FeatureView }) {
  if (tasks.length === 0) return null
  const done = tasks.filter(({ status }) => status === 'done').length
  return (
    <section className="sheet pad" aria-labelledby="tasks">
      <header className="row">
        <h2 className="h2" id="tasks">
          {words.tasks}
        </h2>
        <span className="soft t12">{words.tasksDone(done, tasks.length)}</span>
      </header>
      <svg className="meter" aria-hidden>
        <rect className="bg" width="100%" height="100%" />
        <rect className="g1" x="0%" width={`${(done / tasks.length) * 100}%`} height="100%" />
      </svg>
      <FocusedTaskKeys />
      <ul className="tl">
        {tasks.map((task) => (
          <li key={task.id}>
            <Link className="dep" to="/tasks/$key" params={{ key: task.key }}>
              <StatusGlyph status={task.status} name={statusNames[task.status]} />
              <span className="key">{task.key}</span>
              <span className="cut grow">{task.title}</span>
              {task.lease ? (
                <LeaseRing party={task.lease.holder} left={shareLeft(task.lease.lastSeenAt, task.lease.expiresAt)} />
              ) : (
                task.assignee && <Avatar party={task.assignee} />
              )}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
