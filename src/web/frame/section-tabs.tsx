/** The switch on top of pages that share an entry of the sidebar: Notes, Decisions, Specs, Memory, Skills. */
import { Link } from '@tanstack/react-router'
import { useDestinations, usePagePath } from './current-page.ts'
import { destinationOf, sections } from './destinations.ts'

export function SectionTabs() {
  const pathname = usePagePath()
  const { destinations } = useDestinations()
  const at = destinationOf(pathname, destinations)
  const section = sections.find(({ name }) => name === at?.group)
  const pages = destinations.filter(({ group }) => group === section?.name)
  // A record has a page of its own, whose breadcrumbs lead back.
  if (!section || pages.length < 2 || at?.to !== pathname) return null
  return (
    <nav className="tabs sectiontabs" aria-label={section.label}>
      {pages.map(({ to, label }) => (
        <Link key={to} to={to} activeOptions={{ exact: true, includeSearch: false }}>
          {label}
        </Link>
      ))}
    </nav>
  )
}
