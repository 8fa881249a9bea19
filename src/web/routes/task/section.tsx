import { createContext, type ReactNode, useContext } from 'react'

/** The level of a task's title: the first on its own page, the second beside a list. */
export const HeadingLevel = createContext<1 | 2>(2)

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
