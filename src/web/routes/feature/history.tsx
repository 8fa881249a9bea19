/** The history of a feature: evidence, reviews and other events, newest first. */
import { Link } from '@tanstack/react-router'
import type { ActivityItem } from '../../../features/activity/schema.ts'
import type { FeatureView, SubmittedEvidence } from '../../../features/workflow/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { EvidenceGlyph, EvidenceWord } from '../../components/evidence.tsx'
import { dayAndTime } from '../../lib/times.ts'
import { humanizeName, words } from './words.ts'
import { actorParty } from './workflow-track.tsx'

type Entry =
  | { at: string; evidence: SubmittedEvidence }
  | { at: string; review: FeatureView['reviews'][number] }
  | { at: string; event: ActivityItem }

/** Evidence and reviews, and the events that created neither: overrides, edits, verifications. */
function entriesOf({ evidence, reviews }: FeatureView, happened: readonly ActivityItem[]): Entry[] {
  const told = new Set([...evidence, ...reviews].map(({ createdAt }) => createdAt))
  return [
    ...evidence.map((one) => ({ at: one.createdAt, evidence: one })),
    ...reviews.map((review) => ({ at: review.createdAt, review })),
    ...happened.filter(({ at }) => !told.has(at)).map((event) => ({ at: event.at, event })),
  ].sort((a, b) => (a.at < b.at ? 1 : -1))
}

export function FeatureHistory({ feature, happened }: { feature: FeatureView; happened: readonly ActivityItem[] }) {
  const entries = entriesOf(feature, happened)
  return (
    <section className="sheet pad" aria-labelledby="trail">
      <header className="row">
        <h2 className="h2" id="trail">
          {words.trail}
        </h2>
        <span className="end t12 soft">{words.entries(entries.length)}</span>
      </header>
      {entries.length === 0 && <p className="soft t13">{words.noTrail}</p>}
      <ul className="feed">
        {entries.map((entry) => {
          if ('evidence' in entry) return <EvidenceEntry key={entry.evidence.id} evidence={entry.evidence} />
          if ('review' in entry) return <ReviewEntry key={entry.review.id} review={entry.review} />
          return <EventEntry key={entry.event.id} event={entry.event} />
        })}
      </ul>
    </section>
  )
}

const EventEntry = ({ event: { at, actor, description } }: { event: ActivityItem }) => (
  <li>
    <Avatar party={actorParty(actor)} />
    <span>
      <b>{actor.name}</b> {description}
    </span>
    <Time at={at} />
  </li>
)

const Time = ({ at }: { at: string }) => <time dateTime={at}>{dayAndTime(at)}</time>

function EvidenceEntry({
  evidence: { actor, gate, level, evidence, missing, reopenedAt, verified, createdAt },
}: {
  evidence: SubmittedEvidence
}) {
  const { tests } = evidence
  const items = [
    ...(tests ? [{ part: 'tests' as const, text: words.testResult(tests.command, tests.passed, tests.failed) }] : []),
    ...(['files', 'commits', 'pullRequests', 'testRuns', 'links'] as const).flatMap((part) =>
      (evidence[part] ?? []).map((text) => ({ part, text })),
    ),
  ]
  return (
    <li>
      <Avatar party={actorParty(actor)} />
      <span className="stack s1">
        <span>
          <b>{actor.name}</b> {words.brought} <b>{humanizeName(gate)}</b>: {evidence.summary}
        </span>
        {items.length > 0 && (
          <ul className="evitems" aria-label={words.evidenceTitle(humanizeName(gate))}>
            {items.map(({ part, text }) => (
              <li key={`${part} ${text}`} title={words.evidence[part]}>
                <Item text={text} />
              </li>
            ))}
          </ul>
        )}
        <span className="row tight t12 soft">
          <EvidenceGlyph level={level} />
          <EvidenceWord level={level} />
          {verified && <span>{words.verifiedBy(verified.by.name)}</span>}
          {reopenedAt !== null && <span>{words.noLongerCounts}</span>}
        </span>
        {missing?.map(({ item, reason }) => (
          <span key={item} className="t12 bad">
            {words.missingItem[reason](item)}
          </span>
        ))}
      </span>
      <Time at={createdAt} />
    </li>
  )
}

/** An address becomes a link; anything else stays text. */
const Item = ({ text }: { text: string }) =>
  /^https?:\/\//i.test(text) ? (
    <a className="link" href={text} target="_blank" rel="noopener noreferrer nofollow">
      {text}
    </a>
  ) : (
    <span className="mono">{text}</span>
  )

function ReviewEntry({ review }: { review: FeatureView['reviews'][number] }) {
  return (
    <li>
      <Avatar party={actorParty(review.actor)} />
      <span>
        <b>{review.actor.name}</b> {review.verdict === 'approved' ? words.approved : words.askedForChanges}
        {review.comments && `: ${review.comments}`}
      </span>
      <Time at={review.createdAt} />
    </li>
  )
}

/** Tasks, blockers, links and pull requests. */
export function RelatedRecords({ feature }: { feature: FeatureView }) {
  const { blockers, links, pullRequests } = feature
  if (blockers.length + links.length + pullRequests.length === 0) return null
  return (
    <section className="sheet pad" aria-labelledby="around">
      <header className="row">
        <h2 className="h2" id="around">
          {words.related}
        </h2>
      </header>
      <ul className="tl">
        {blockers.map(({ id, title, status }) => (
          <li key={id}>
            <Link className="dep" to="/features/$id" params={{ id }}>
              <span className="flag">{words.waitsFor}</span>
              <span className="cut grow">{title}</span>
              <span className="soft t12">{humanizeName(status)}</span>
            </Link>
          </li>
        ))}
        {links.map(({ id, title, path, type, kind }) => (
          <li key={`${id} ${kind}`}>
            <Link className="dep" to={path}>
              <span className="flag">{type}</span>
              <span className="cut grow">{title}</span>
              <span className="soft t12">{kind}</span>
            </Link>
          </li>
        ))}
        {pullRequests.map(({ number, title, url }) => (
          <li key={url}>
            <a className="dep" href={url} target="_blank" rel="noopener noreferrer nofollow">
              <span className="key">#{number}</span>
              <span className="cut grow">{title}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
