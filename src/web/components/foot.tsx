/** The content of the status bar: shortcuts of the page at the left, the last action at the right. */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from 'react'

interface FootLine {
  left: ReactNode
  /** Also spoken, as a live region. */
  right: string
}
type SetFoot = (line: Partial<FootLine>) => void
const LineContext = createContext<FootLine>({ left: null, right: '' })
/** A context of its own, so that a page that only sets the line does not render again with every message. */
const SetContext = createContext<SetFoot>(() => undefined)

export function FootProvider({ children }: { children: ReactNode }) {
  const [line, setLine] = useState<FootLine>({ left: null, right: '' })
  const set = useCallback<SetFoot>((next) => setLine((before) => ({ ...before, ...next })), [])
  return (
    <SetContext value={set}>
      <LineContext value={line}>{children}</LineContext>
    </SetContext>
  )
}

export const useFootLine = () => useContext(LineContext)
export const useSetFoot = () => useContext(SetContext)

/** Shows a constant element at the left of the status bar while the component is mounted. */
export function useFootLeft(left: ReactNode): void {
  const set = useSetFoot()
  useEffect(() => {
    set({ left })
    return () => set({ left: null })
  }, [left, set])
}

export const Kbd = ({ children }: { children: ReactNode }) => <kbd className="kbd">{children}</kbd>
