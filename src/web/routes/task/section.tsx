import { createContext, type ReactNode, useContext } from 'react'

/** The level of a task's title: the first on its own page, the second beside a list. */
export const HeadingLevel = createContext<1 | 2>(2)

/** The scope of a task's keys: beside a list, those of the list come first. */
export const useKeyScope = (): 'page' | 'panel' => (useContext(HeadingLevel) === 1 ? 'page' : 'panel')

interface Props {
  title: string
  n?: ReactNode
  children: ReactNode
}

/** A titled part of a task. */
export function TaskSection({ title, n, children }: Props) {
  const Heading = useContext(HeadingLevel) === 1 ? 'h2' : 'h3'
  return (
    <section className="sect" aria-label={title}>
      <header>
        <Heading className="h2">{title}</Heading>
        {n !== undefined && <span className="n">{n}</span>}
      </header>
      {children}
    </section>
  )
}
