/** One entry of a feed: who, what, when. */
import type { ReactNode } from 'react'
import type { Doer } from '../../records/party.ts'
import { Avatar } from './party.tsx'

/** The system is shown like an agent. */
const faceOf = ({ type, ...rest }: Doer) => ({ ...rest, type: type === 'user' ? type : ('agent' as const) })

interface Props {
  actor: Doer
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
