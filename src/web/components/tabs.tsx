/** Tabs: arrow keys move between them, and only the chosen one is in the order of the Tab key. */
import { type KeyboardEvent, type ReactNode, useId, useRef } from 'react'

interface Props<T extends string> {
  label: string
  tabs: readonly { value: T; label: string }[]
  chosen: T
  onChoose(value: T): void
  children: ReactNode
}

export function Tabs<T extends string>({ label, tabs, chosen, onChoose, children }: Props<T>) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step) return
    const place = (tabs.findIndex(({ value }) => value === chosen) + step + tabs.length) % tabs.length
    const next = tabs[place]
    if (!next) return
    event.preventDefault()
    onChoose(next.value)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[place]?.focus()
  }
  return (
    <>
      <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map(({ value, label }) => (
          <button
            key={value}
            type="button"
            role="tab"
            id={`${id}-${value}`}
            aria-selected={value === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={value === chosen ? 0 : -1}
            onClick={() => onChoose(value)}
          >
            {label}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${chosen}`} className="stack">
        {children}
      </div>
    </>
  )
}
