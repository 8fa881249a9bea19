/** The keys of a picker: in its foot, and in the status bar. */
import { Kbd } from '../status-bar.tsx'
import { words } from './words.ts'

export const PickerHints = ({ verb, toggles }: { verb: string; toggles: boolean }) => (
  <div className="pfoot" aria-hidden>
    <span className="row">
      <Kbd>↵</Kbd> {verb}
    </span>
    <span className="row">
      <Kbd>Esc</Kbd> {toggles ? words.done : words.close}
    </span>
  </div>
)

export const StatusBarHints = ({ subject, verb, digits }: { subject: string; verb: string; digits: boolean }) => (
  <>
    <b className="b5 ink">{subject}</b>
    <span className="row">
      <Kbd>↑</Kbd>
      <Kbd>↓</Kbd> {words.move}
    </span>
    {digits && (
      <span className="row">
        <Kbd>1</Kbd>–<Kbd>9</Kbd> {words.pick}
      </span>
    )}
    <span className="row">
      <Kbd>↵</Kbd> {verb}
    </span>
    <span className="row">
      <Kbd>Esc</Kbd> {words.close}
    </span>
  </>
)
