/** What the foot line says: what is selected with its keys at the left, what is going on at the right. */
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

/** Returns what the foot line says. */
export const useFootLine = () => useContext(LineContext)
/** Returns how to change what the foot line says. */
export const useSetFoot = () => useContext(SetContext)

/** Shows this at the left of the foot line while the component that calls it is there. Give it a constant element. */
export function useFootLeft(left: ReactNode): void {
  const set = useSetFoot()
  useEffect(() => {
    set({ left })
    return () => set({ left: null })
  }, [left, set])
}

export const Kbd = ({ children }: { children: ReactNode }) => <kbd className="kbd">{children}</kbd>
