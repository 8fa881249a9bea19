/** What the foot line says: what is selected with its keys at the left, what is going on at the right. */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react'

interface FootLine {
  left: ReactNode
  /** Also spoken, as a live region. */
  right: string
}
interface FootState extends FootLine {
  set(line: Partial<FootLine>): void
}
const FootContext = createContext<FootState>({ left: null, right: '', set: () => undefined })

export function FootProvider({ children }: { children: ReactNode }) {
  const [line, setLine] = useState<FootLine>({ left: null, right: '' })
  const set = useCallback((next: Partial<FootLine>) => setLine((before) => ({ ...before, ...next })), [])
  const value = useMemo(() => ({ ...line, set }), [line, set])
  return <FootContext value={value}>{children}</FootContext>
}

export const useFoot = () => useContext(FootContext)

/** Shows this at the left of the foot line while the component that calls it is there. Give it a constant element. */
export function useFootLeft(left: ReactNode): void {
  const { set } = useFoot()
  useEffect(() => {
    set({ left })
    return () => set({ left: null })
  }, [left, set])
}

export const Kbd = ({ children }: { children: ReactNode }) => <kbd className="kbd">{children}</kbd>
