/** What the next gate still needs, and the call that supplies it. */
import { Link } from '@tanstack/react-router'
import { Check, CircleSlash } from 'lucide-react'
import type { FeatureView } from '../../../features/workflow/schema.ts'
import { capitalize, statusNames } from '../../words.ts'
import { currentEvidence } from './track.ts'
import { humanizeName, words } from './words.ts'

type Missing = NonNullable<FeatureView['next']>['missing'][number]

interface Props {
  feature: FeatureView
  gate: string | null | undefined
  /** Left out if the reader may not bring evidence. */
  onEvidence: (() => void) | undefined
}

const blockerOf = ({ item }: Missing): string | undefined => /^blockedBy (\S+)$/.exec(item)?.[1]
const isEvidence = ({ item }: Missing): boolean => item.startsWith('evidence.')
const taskOf = ({ item }: Missing): string | undefined => /^task (\S+)$/.exec(item)?.[1]

export function MissingItems({ feature, gate, onEvidence }: Props) {
  if (!feature.next) return null
  const { missing } = feature.next
  return (
    <section className="sheet pad" aria-labelledby="lacks">
      <header className="row wrap">
        <h2 className="h2" id="lacks">
          {words.missing}
        </h2>
        {missing.length > 0 && <span className="flag warn">{words.nMissing(missing.length)}</span>}
        {gate && <span className="end t12 soft mono">{gate}</span>}
      </header>
      {currentEvidence(feature)
        .filter((one) => one.gate === gate)
        .slice(-1)
        .flatMap((last) => last.missing ?? [])
        .map(({ item, reason }) => (
          <p key={item} className="t13 bad" role="note">
            {words.missingItem[reason](item)} {words.submitAgain}
          </p>
        ))}
      {missing.length === 0 && (
        <div className="lack">
          <Check className="i good" aria-hidden />
          <span>{words.nothingMissing}</span>
        </div>
      )}
      {missing.map((one) => (
        <MissingItemRow key={one.item} missing={one} feature={feature} onEvidence={onEvidence} />
      ))}
      {missing.some(isEvidence) && <Call text={advanceCall(shortOf(feature), missing)} />}
      {missing.some(({ item }) => item === 'review') && (
        <Call text={`submit_review feature: "${shortOf(feature)}"\n  verdict: "approved"`} />
      )}
      {missing.length > 0 && <p className="t12 soft">{words.sameForAgents}</p>}
    </section>
  )
}

/** The beginning of an id names it too. */
const shortOf = ({ id }: FeatureView): string => id.slice(0, 13)

const Call = ({ text }: { text: string }) => (
  <pre className="code callof" title={words.callOf}>
    {text}
  </pre>
)

function MissingItemRow({
  missing,
  feature,
  onEvidence,
}: { missing: Missing; feature: FeatureView } & Pick<Props, 'onEvidence'>) {
  const blocker = blockerOf(missing)
  const waiting = feature.blockers.find(({ id }) => id === blocker)
  const task = feature.tasks.find(({ key }) => key === taskOf(missing))
  return (
    <div className="lack">
      <CircleSlash className="i warn" aria-hidden />
      <span>
        {waiting ? (
          <>
            {words.waitsFor}{' '}
            <Link className="link" to="/features/$id" params={{ id: waiting.id }}>
              {waiting.title}
            </Link>
            , {humanizeName(waiting.status).toLowerCase()}
          </>
        ) : task ? (
          <>
            {words.openTask}{' '}
            <Link className="link" to="/tasks/$key" params={{ key: task.key }}>
              {task.title}
            </Link>
            , {statusNames[task.status].toLowerCase()}
          </>
        ) : (
          capitalize(missing.needs)
        )}
        <br />
        <span className="t12 soft mono">{waiting || task ? missing.next.command : missing.item}</span>
      </span>
      {isEvidence(missing) && onEvidence && (
        <button type="button" className="btn small" onClick={onEvidence}>
          {words.addEvidence}
        </button>
      )}
      {waiting && (
        <Link className="btn small" to="/features/$id" params={{ id: waiting.id }}>
          {words.openFeature}
        </Link>
      )}
      {task && (
        <Link className="btn small" to="/tasks/$key" params={{ key: task.key }}>
          {words.openRecord(task.key)}
        </Link>
      )}
      {missing.item === 'review' && feature.can.review === true && (
        <button type="button" className="btn small" onClick={focusReview}>
          {words.review}
        </button>
      )}
    </div>
  )
}

const focusReview = () => document.getElementById('verdict')?.focus()

const examples: Readonly<Record<string, string>> = {
  summary: 'summary: "…"',
  tests: 'tests: { command: "…", passed: 1, failed: 0 }',
}

/** The call of the tool, with an empty place for the first of each kind of evidence that would do. */
function advanceCall(id: string, missing: readonly Missing[]): string {
  const parts = missing.filter(isEvidence).map(({ item }) => item.split(' ')[0]?.slice('evidence.'.length) ?? '')
  const all = [...new Set(['summary', ...parts])]
  const given = all.map((part) => examples[part] ?? `${part}: ["…"]`).join(', ')
  return `advance_feature feature: "${id}"\n  evidence: { ${given} }`
}
