import { Kbd, useStatusBar } from '../components/status-bar.tsx'
import { useLiveState } from '../live/state.ts'
import { words } from '../words.ts'

export function StatusBar() {
  const { left, right } = useStatusBar()
  const state = useLiveState()
  return (
    <footer className="foot">
      <span className="row" role="status">
        <span className={state === 'away' || state === 'joining' ? 'live off' : 'live'} />
        {words[state === 'hub' ? 'live' : state]}
      </span>
      {left.at(-1)}
      <span className="end" aria-live="polite">
        {right || (
          <span className="row" aria-hidden>
            <Kbd>?</Kbd>
            {words.keysHere}
          </span>
        )}
      </span>
    </footer>
  )
}
