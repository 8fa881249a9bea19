import { useFoot } from '../components/foot.tsx'
import { useLiveState } from '../live.ts'
import { words } from '../words.ts'

export function Foot() {
  const { left, right } = useFoot()
  const state = useLiveState()
  return (
    <footer className="foot">
      <span className="row" role="status">
        <span className={state === 'away' ? 'live off' : 'live'} />
        {{ hub: words.live, polling: words.polling, away: words.away }[state]}
      </span>
      {left}
      <span className="end" aria-live="polite">
        {right}
      </span>
    </footer>
  )
}
