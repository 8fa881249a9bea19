import type { TunnelAction } from '../../../features/tunnels/actions/action-schema.ts'
import { words } from './words.ts'

const tones: Partial<Record<TunnelAction['state'], string>> = {
  succeeded: 'good',
  failed: 'bad',
  refused: 'warn',
  timed_out: 'warn',
  awaiting_confirmation: 'warn',
}

export const ActionStateFlag = ({ state }: { state: TunnelAction['state'] }) => (
  <span className={`flag ${tones[state] ?? ''}`}>{words.states[state]}</span>
)
