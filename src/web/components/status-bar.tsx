/** The content of the status bar: shortcuts of the page at the left, the last action at the right. */
import {
  createContext,
  type Dispatch,
  type ReactNode,
  type SetStateAction,
  useCallback,
  useContext,
  useEffect,
  useState,
} from 'react'
import { keyLabels } from '../shortcuts.ts'

interface StatusBarContent {
  /** Of several, the last one is shown: the keys of a picker over those of its page. */
  left: readonly ReactNode[]
  /** Also spoken, as a live region. */
  right: string
}
type SetStatusBar = (line: Pick<StatusBarContent, 'right'>) => void
const empty: StatusBarContent = { left: [], right: '' }
const LineContext = createContext(empty)
/** A context of its own, so that a page that only sets the line does not render again with every message. */
const SetContext = createContext<SetStatusBar>(() => undefined)
const SetLineContext = createContext<Dispatch<SetStateAction<StatusBarContent>>>(() => undefined)

export function StatusBarProvider({ children }: { children: ReactNode }) {
  const [line, setLine] = useState(empty)
  const set = useCallback<SetStatusBar>((next) => setLine((before) => ({ ...before, ...next })), [])
  return (
    <SetLineContext value={setLine}>
      <SetContext value={set}>
        <LineContext value={line}>{children}</LineContext>
      </SetContext>
    </SetLineContext>
  )
}

export const useStatusBar = () => useContext(LineContext)
export const useSetStatusBar = () => useContext(SetContext)

/** Shows a constant element at the left of the status bar while the component is mounted. */
export function useStatusBarLeft(left: ReactNode): void {
  const set = useContext(SetLineContext)
  useEffect(() => {
    if (!left) return
    set((before) => ({ ...before, left: [...before.left, left] }))
    return () => set((before) => ({ ...before, left: before.left.filter((one) => one !== left) }))
  }, [left, set])
}

export const Kbd = ({ children }: { children: ReactNode }) => <kbd className="kbd">{children}</kbd>

/** What a key does, for the left of the status bar: `<KeyHint keys="j k" text="move" />`. */
export const KeyHint = ({ keys, text }: { keys: string; text: string }) => (
  <span className="row">
    {keyLabels(keys).map((cap) => (
      <Kbd key={cap}>{cap}</Kbd>
    ))}
    {text}
  </span>
)
