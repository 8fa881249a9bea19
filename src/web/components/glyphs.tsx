/** Glyphs that differ in shape, not only in colour, with names for screen readers. */
import type { ReactNode } from 'react'
import type { Priority, Status } from '../../records/task-states.ts'

const glyph = (name: string | undefined, body: ReactNode, small = false) => (
  // biome-ignore lint/a11y/noSvgWithoutTitle: a title would also be a tooltip; the name is in aria-label
  <svg
    className={small ? 'g s14' : 'g'}
    viewBox="0 0 16 16"
    fill="none"
    {...(name ? { role: 'img', 'aria-label': name } : { 'aria-hidden': true })}
  >
    {body}
  </svg>
)
const ring = (colour: string) => <circle cx="8" cy="8" r="5.75" stroke={colour} strokeWidth="1.5" />
const bars = (on: number) => (
  <>
    <path d="M3.5 13V9.5" stroke="var(--ink)" strokeWidth="2.2" strokeLinecap="round" />
    <path d="M8 13V6.5" stroke={on > 1 ? 'var(--ink)' : 'var(--line)'} strokeWidth="2.2" strokeLinecap="round" />
    <path d="M12.5 13V3.5" stroke={on > 2 ? 'var(--ink)' : 'var(--line)'} strokeWidth="2.2" strokeLinecap="round" />
  </>
)

const states: Record<Status, ReactNode> = {
  backlog: <circle cx="8" cy="8" r="5.75" stroke="var(--edge)" strokeWidth="1.5" strokeDasharray="1.8 1.8" />,
  todo: ring('var(--edge)'),
  in_progress: (
    <>
      {ring('var(--info)')}
      <path d="M8 4.75a3.25 3.25 0 0 1 0 6.5z" fill="var(--info)" />
    </>
  ),
  blocked: (
    <>
      <circle cx="8" cy="8" r="6.5" fill="var(--bad)" />
      <path d="M5 8h6" stroke="var(--card)" strokeWidth="1.8" strokeLinecap="round" />
    </>
  ),
  in_review: (
    <>
      {ring('var(--accent)')}
      <path d="M8 4.75A3.25 3.25 0 1 1 4.75 8H8z" fill="var(--accent)" />
    </>
  ),
  done: (
    <>
      <circle cx="8" cy="8" r="6.5" fill="var(--good)" />
      <path
        d="m5.2 8.2 2 2 3.7-4"
        stroke="var(--card)"
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </>
  ),
  cancelled: (
    <>
      {ring('var(--edge)')}
      <path d="m6 6 4 4m0-4-4 4" stroke="var(--edge)" strokeWidth="1.5" strokeLinecap="round" />
    </>
  ),
}

/** `name` is for screen readers; leave it out where the word is shown beside the glyph. */
export const StatusGlyph = ({ status, name }: { status: Status; name?: string }) => glyph(name, states[status])

const levels: Record<Priority, ReactNode> = {
  critical: (
    <>
      <path d="M8 1.2 14.8 8 8 14.8 1.2 8z" fill="var(--bad)" />
      <path d="M8 4.8v3.6M8 10.7v.1" stroke="var(--card)" strokeWidth="1.7" strokeLinecap="round" />
    </>
  ),
  high: bars(3),
  medium: bars(2),
  low: bars(1),
}
export const PriorityGlyph = ({ priority, name }: { priority: Priority; name?: string }) =>
  glyph(name, levels[priority], true)

export const AgentGlyph = () =>
  glyph(
    undefined,
    <>
      <rect x="2.25" y="2.25" width="11.5" height="11.5" rx="3" stroke="currentColor" strokeWidth="1.4" />
      <path
        d="m5.5 6 2 2-2 2M8.8 10.2h2"
        stroke="currentColor"
        strokeWidth="1.4"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </>,
    true,
  )

export const Mark = () => (
  <svg
    className="mark"
    viewBox="0 0 16 16"
    fill="none"
    stroke="currentColor"
    strokeWidth="2"
    strokeLinecap="round"
    aria-hidden
  >
    <path d="M4.75 1.6v9.1a2.45 2.45 0 0 0 2.45 2.45M10.25 1.6v9.1a2.45 2.45 0 0 0 2.45 2.45" />
    <path d="M1.7 6.35 14.3 4.45" />
  </svg>
)

export const Wordmark = () => (
  <svg
    className="wordmark"
    viewBox="0 0 45 18"
    fill="none"
    stroke="currentColor"
    strokeWidth="2.2"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden
  >
    <path d="M4.6 2.2v10.4a3 3 0 0 0 3 3h.4" />
    <path d="M1.4 6.9h6.6" />
    <path d="M12.4 6.9v5.2a3.5 3.5 0 0 0 7 0V6.9v8.7" />
    <g className="tt">
      <path d="M27.2 2.2v10.4a3 3 0 0 0 3 3h.2M34.6 2.2v10.4a3 3 0 0 0 3 3h.4" />
      <path d="m23.6 7.75 15-2.3" />
    </g>
    <path d="M42.6 6.9v8.7" />
    <path d="M42.6 2.7v.01" strokeWidth="2.9" />
  </svg>
)
