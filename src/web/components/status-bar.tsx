/** The content of the status bar: shortcuts of the page at the left, the last action at the right. */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from 'react'

interface StatusBarContent {
  left: ReactNode
  /** Also spoken, as a live region. */
  right: string
}
type SetStatusBar = (line: Partial<StatusBarContent>) => void
const LineContext = createContext<StatusBarContent>({ left: null, right: '' })
/** A context of its own, so that a page that only sets the line does not render again with every message. */
const SetContext = createContext<SetStatusBar>(() => undefined)

export function StatusBarProvider({ children }: { children: ReactNode }) {
  const [line, setLine] = useState<StatusBarContent>({ left: null, right: '' })
  const set = useCallback<SetStatusBar>((next) => setLine((before) => ({ ...before, ...next })), [])
  return (
    <SetContext value={set}>
      <LineContext value={line}>{children}</LineContext>
    </SetContext>
  )
}

export const useStatusBar = () => useContext(LineContext)
export const useSetStatusBar = () => useContext(SetContext)

/** Shows a constant element at the left of the status bar while the component is mounted. */
export function useStatusBarLeft(left: ReactNode): void {
  const set = useSetStatusBar()
  useEffect(() => {
    set({ left })
    return () => set({ left: null })
  }, [left, set])
}

export const Kbd = ({ children }: { children: ReactNode }) => <kbd className="kbd">{children}</kbd>
