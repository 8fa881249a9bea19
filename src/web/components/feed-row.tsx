/** One entry of a feed: who, what, when. */
import type { ReactNode } from 'react'
import type { ActorSummary } from '../../records/user-or-agent.ts'
import { Avatar } from './avatar.tsx'

/** The system is shown like an agent. */
const faceOf = ({ type, ...rest }: ActorSummary) => ({ ...rest, type: type === 'user' ? type : ('agent' as const) })

interface Props {
  actor: ActorSummary
  /** What they did, for example `completed TUT-4 Lock the data folder`. */
  what: ReactNode
  when: ReactNode
}

export const FeedRow = ({ actor, what, when }: Props) => (
  <div className="frow">
    <Avatar party={faceOf(actor)} />
    <span className="grow cut">
      <b className="b5">{actor.name}</b> {what}
    </span>
    {when}
  </div>
)
