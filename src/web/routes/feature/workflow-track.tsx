/** The states of a feature from left to right, with a gate between two. */
import { Check, Lock } from 'lucide-react'
import type { FeatureView, SubmittedEvidence } from '../../../features/workflow/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { EvidenceGlyph, EvidenceWord } from '../../components/evidence.tsx'
import { day, dayAndTime } from '../../lib/times.ts'
import type { FeatureActMutation } from './queries.ts'
import { type TrackState, trackStates } from './track.ts'
import { humanizeName, words } from './words.ts'

interface Props {
  feature: FeatureView
  act: FeatureActMutation
}

export function WorkflowTrack({ feature, act, since }: Props & { since: string | undefined }) {
  const measures = trackStates(feature)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways where it does not fit
    <section className="bars" aria-label={words.track} tabIndex={0}>
      {measures.map((measure) => (
        <section
          key={measure.state}
          className={`meas${measure.place === 'past' ? '' : ` ${measure.place}`}`}
          aria-label={humanizeName(measure.state)}
          aria-current={measure.place === 'now' ? 'step' : undefined}
        >
          <header>
            <b>
              {humanizeName(measure.state)}
              {measure.place === 'now' && <span className="flag accent">{words.now}</span>}
            </b>
            {measure.place === 'ahead' && <span className="t12 soft">{words.ahead}</span>}
            {measure.place === 'now' && since && <span className="t12 soft">{words.since(dayAndTime(since))}</span>}
          </header>
          <Content measure={measure} feature={feature} act={act} />
          {measure.gate !== undefined && <GateMark measure={measure} />}
        </section>
      ))}
    </section>
  )
}

function GateMark({ measure: { place } }: { measure: TrackState }) {
  const title = { past: words.gatePassed, now: words.gateNext, ahead: words.gateAhead }[place]
  const kind = { past: ' ok', now: ' next', ahead: '' }[place]
  return (
    <span className={`gate${kind}`} role="img" aria-label={title} title={title}>
      {place === 'past' ? <Check className="i s12" aria-hidden /> : <Lock className="i s12" aria-hidden />}
    </span>
  )
}

function Content({ measure, feature, act }: Props & { measure: TrackState }) {
  const { gate, skipped, evidence, place } = measure
  if (gate === undefined) return <p className="t12 soft">{words.final}</p>
  if (gate === null) return <p className="t12 soft">{words.noGate}</p>
  const missing = place === 'now' ? (feature.next?.missing.length ?? 0) : 0
  return (
    <>
      <p className="t12">
        <b className="b5">{humanizeName(gate)}</b> {missing > 0 && <span className="soft">{words.lacks(missing)}</span>}
      </p>
      {skipped && <p className="t12 soft">{words.skipped(feature.kind)}</p>}
      {gate === 'review' && place !== 'past' && <p className="t12 soft">{words.oneApproval}</p>}
      {gate === 'review' && place === 'past' && <Approvals feature={feature} />}
      {evidence.map((one) => (
        <EvidenceCard key={one.id} evidence={one} may={feature.can.verify === true} act={act} />
      ))}
    </>
  )
}

function Approvals({ feature: { reviews } }: { feature: FeatureView }) {
  return reviews
    .filter(({ verdict }) => verdict === 'approved')
    .map((review) => (
      <div key={review.id} className="evc">
        <div className="row tight soft">
          <Avatar party={actorParty(review.actor)} />
          <span className="lv verified">{words.verdicts.approved}</span>
          <span className="end">{day(review.createdAt)}</span>
        </div>
      </div>
    ))
}

/** The system is shown like an agent. */
export const actorParty = ({ type, id, name }: SubmittedEvidence['actor']) => ({
  type: type === 'user' ? ('user' as const) : ('agent' as const),
  id,
  name,
})

function EvidenceCard({ evidence, may, act }: { evidence: SubmittedEvidence; may: boolean; act: FeatureActMutation }) {
  const { summary } = evidence.evidence
  const by = evidence.verified?.by
  return (
    <div className="evc">
      <div className="row">
        <EvidenceGlyph level={evidence.level} />
        <span className="clip3">{summary}</span>
      </div>
      <div className="row tight soft wrap">
        <Avatar party={actorParty(by ?? evidence.actor)} />
        <EvidenceWord level={evidence.level} />
        <span className="end">{day(evidence.verified?.at ?? evidence.createdAt)}</span>
      </div>
      {evidence.missing?.map(({ item, reason }) => (
        <span key={item} className="t12 bad">
          {words.missingItem[reason](item)}
        </span>
      ))}
      {may && evidence.level !== 'verified' && evidence.level !== 'missing' && (
        <button
          type="button"
          className="btn small verify"
          aria-label={words.verifyOf(summary)}
          disabled={act.isPending}
          onClick={() => act.mutate({ do: 'verify', evidenceId: evidence.id })}
        >
          {words.verify}
        </button>
      )}
    </div>
  )
}
