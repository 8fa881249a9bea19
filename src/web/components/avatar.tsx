/** People are round, agents are square. */
import type { UserOrAgent } from '../../records/user-or-agent.ts'

const initials = (name: string): string => {
  // "Codex (build-1)" is CO: the brackets name the machine, not the agent.
  const [first = '', second] = name
    .replace(/\(.*$/, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
  return (second ? [first, second].map((part) => [...part][0]).join('') : [...first].slice(0, 2).join('')).toUpperCase()
}

/** The colour of a person: always the same one, chosen by their id. */
const tone = (id: string | null): string => {
  const sum = [...(id ?? '')].reduce((n, c) => (n * 31 + c.charCodeAt(0)) % 997, 7)
  return ['', ' p2', ' p3'][sum % 3] as string
}

type Size = 's' | 'm' | 'l'

export function Avatar({ party, size = 's', away = false }: { party: UserOrAgent; size?: Size; away?: boolean }) {
  const kind = party.type === 'agent' ? ' agent' : tone(party.id)
  return (
    <span
      className={`av${kind}${size === 's' ? '' : ` ${size}`}${away ? ' away' : ''}`}
      role="img"
      aria-label={party.name}
      title={party.for ? `${party.name} for ${party.for.name}` : party.name}
    >
      {initials(party.name)}
    </span>
  )
}

const OUTLINE = 'M13 1.5h4.5a7 7 0 0 1 7 7v9a7 7 0 0 1-7 7h-9a7 7 0 0 1-7-7v-9a7 7 0 0 1 7-7z'

/** The ring drains clockwise with the time that is left of a lease, and warns in its last fifth. */
export function LeaseRing({ party, left, size = 's' }: { party: UserOrAgent; left: number; size?: Size }) {
  const percent = Math.round(Math.min(1, Math.max(0, left)) * 100)
  const classes = ['lease', percent < 20 && 'low', party.type === 'user' && 'you', size === 'l' && 'l']
  return (
    <span className={classes.filter(Boolean).join(' ')} title={`lease, ${percent} % left`}>
      <svg viewBox="0 0 26 26" aria-hidden>
        <path className="track" d={OUTLINE} />
        <path className="left" d={OUTLINE} pathLength={100} strokeDasharray={`${percent} 100`} />
      </svg>
      <Avatar party={party} />
    </span>
  )
}

/** A hollow mark is a call, a solid one a change. */
export function TimeMark({
  text,
  title,
  change,
  late,
}: {
  text: string
  title: string
  change?: boolean
  late?: boolean
}) {
  return (
    <span className={`clock${change ? ' change' : ''}${late ? ' late' : ''}`} title={title}>
      <span className="hide">{title} </span>
      {text}
    </span>
  )
}
