/**
 * The level of evidence: a ring if it was only reported, a dot if the code host confirms it, a check if a person
 * verified it, a cross if the code host does not have it.
 */
type EvidenceLevel = 'reported' | 'missing' | 'observed' | 'verified'

const shapes = {
  reported: <circle cx="8" cy="8" r="5.25" fill="var(--card)" stroke="var(--edge)" strokeWidth="1.5" />,
  observed: (
    <>
      <circle cx="8" cy="8" r="5.25" fill="var(--card)" stroke="var(--info)" strokeWidth="1.5" />
      <circle cx="8" cy="8" r="2.4" fill="var(--info)" />
    </>
  ),
  missing: (
    <>
      <circle cx="8" cy="8" r="5.25" fill="var(--card)" stroke="var(--bad)" strokeWidth="1.5" />
      <path d="m6 6 4 4m0-4-4 4" fill="none" stroke="var(--bad)" strokeWidth="1.5" strokeLinecap="round" />
    </>
  ),
  verified: (
    <>
      <circle cx="8" cy="8" r="6" fill="var(--good)" />
      <path
        d="m5.4 8.2 1.8 1.8 3.4-3.8"
        fill="none"
        stroke="var(--card)"
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </>
  ),
} satisfies Record<EvidenceLevel, unknown>

/** Hidden from screen readers: the caller shows the word beside it. */
export const EvidenceGlyph = ({ level }: { level: EvidenceLevel }) => (
  <svg className="g s14" viewBox="0 0 16 16" aria-hidden>
    {shapes[level]}
  </svg>
)

export const EvidenceWord = ({ level }: { level: EvidenceLevel }) => <span className={`lv ${level}`}>{level}</span>
