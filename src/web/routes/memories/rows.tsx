import { Link } from '@tanstack/react-router'
import type { MemoryHit, MemoryItem } from '../../../features/memory/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { ago, day, dayAndTime } from '../../lib/times.ts'
import type { MemorySubject } from './subjects.ts'
import { words } from './words.ts'

interface RowProps {
  memory: MemoryItem
  abouts: readonly MemorySubject[]
  onTag(tag: string): void
}

export function MemoryRow({ memory, abouts, onTag }: RowProps) {
  const about = abouts.find(({ id }) => id === memory.scopeId)?.name ?? words.scopes[memory.scope]
  return (
    <div className="li note">
      <Avatar party={memory.author} />
      <span className="stack s0 cut">
        <Link className="ttl cut" to="/memories/$id" params={{ id: memory.id }}>
          {memory.title ?? memory.excerpt}
        </Link>
        <span className="row tight soft t12">
          <span className="cut">{about}</span>
          <MemoryState memory={memory} />
          {memory.tags.slice(0, 3).map((tag) => (
            <button key={tag} type="button" className="tagb" onClick={() => onTag(tag)}>
              #{tag}
            </button>
          ))}
        </span>
      </span>
      <span className="hp">
        <Importance value={memory.importance} />
      </span>
      <time className="soft t12 num" dateTime={memory.updatedAt} title={dayAndTime(memory.updatedAt)}>
        {ago(memory.updatedAt)}
      </time>
    </div>
  )
}

/** Whether a memory still holds. */
export function MemoryState({ memory }: { memory: Pick<MemoryItem, 'supersededById' | 'expiresAt'> }) {
  if (memory.supersededById) return <span className="flag">{words.superseded}</span>
  if (!memory.expiresAt) return null
  return Date.parse(memory.expiresAt) <= Date.now() ? (
    <span className="flag">{words.expired}</span>
  ) : (
    <span className="flag warn">{words.expires(day(memory.expiresAt))}</span>
  )
}

/** Four strokes, as many solid as it is important. */
export function Importance({ value }: { value: number }) {
  const name = words.importance(Math.round(value * 100) / 100)
  return (
    <svg className="weight" width="18" height="12" viewBox="0 0 18 12" role="img" aria-label={name}>
      <title>{name}</title>
      {[0, 1, 2, 3].map((place) => (
        <rect
          key={place}
          className={value * 4 > place + 0.01 ? 'on' : ''}
          x={place * 5}
          y={9 - place * 3}
          width="3"
          height={3 + place * 3}
          rx="1"
        />
      ))}
    </svg>
  )
}

export const MemoryHitRow = ({ hit }: { hit: MemoryHit }) => (
  <li className="hit">
    <Link className="b5 cut2" to="/memories/$id" params={{ id: hit.id }}>
      {hit.title ?? hit.content}
    </Link>
    {hit.title && <p className="cut2">{hit.content}</p>}
    <p className="row tight wrap soft t12">
      <span>{[words.score(hit.score), hit.age, hit.origin].join(' · ')}</span>
      {hit.tags.map((tag) => (
        <span key={tag}>#{tag}</span>
      ))}
    </p>
  </li>
)
