/** A titled part of a page. */
import type { ReactNode } from 'react'

interface Props {
  title: string
  /** How many there are, or another short fact. */
  n?: ReactNode
  /** What is shown at the right end of the title. */
  end?: ReactNode
  children: ReactNode
}

export const Section = ({ title, n, end, children }: Props) => (
  <section className="sect">
    <header>
      <h2 className="h2">{title}</h2>
      {n !== undefined && <span className="n">{n}</span>}
      {end && <span className="end row tight">{end}</span>}
    </header>
    {children}
  </section>
)

/** A property with its value, at the side of a page. */
export const Property = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="prop">
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
