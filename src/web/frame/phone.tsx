/** The frame of a phone: a head that names the page, a bar of five tabs, and behind "More" everything else. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ChevronLeft, Ellipsis, FolderKanban, Menu as MenuIcon, Search, SquareKanban } from 'lucide-react'
import { Suspense, useState } from 'react'
import { inboxCountQuery } from '../account/session.ts'
import { Mark } from '../components/glyphs.tsx'
import { lazy } from '../lib/lazy.ts'
import { words } from '../words.ts'
import { useBreadcrumbs, useDestinations, useProjectSlug } from './current-page.ts'
import { projectAddress } from './destinations.ts'
import { FavouriteStar } from './favourite-star.tsx'
import { openPalette } from './overlays.ts'

const More = lazy(async () => ({ default: (await import('./more-sheet.tsx')).MoreSheet }))

export function PhoneHead() {
  const crumbs = useBreadcrumbs()
  const slug = useProjectSlug()
  // A page of one record is named after it, and leads back to the list that it is in. The tabs lead around a project.
  const back = crumbs.length > (slug ? 2 : 1) ? crumbs.at(-2)?.to : undefined
  const shown = back ? crumbs.at(-1) : crumbs[0]
  const [open, setOpen] = useState(false)
  return (
    <header className="phonehead">
      {back ? (
        <Link className="ib" to={back} aria-label={words.back}>
          <ChevronLeft className="i s20" aria-hidden />
        </Link>
      ) : (
        <Mark />
      )}
      <b className="cut grow">{shown?.label ?? 'Tutti'}</b>
      <FavouriteStar />
      <button type="button" className="ib" aria-label={words.search} onClick={openPalette}>
        <Search className="i s20" aria-hidden />
      </button>
      <button type="button" className="ib" aria-label={words.more} onClick={() => setOpen(true)}>
        <Ellipsis className="i s20" aria-hidden />
      </button>
      {open && (
        <Suspense>
          <More onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </header>
  )
}

/** The number of notifications that need the reader. */
function InboxBadge() {
  const { needs = 0 } = useQuery(inboxCountQuery).data ?? {}
  return needs > 0 && <span className="tabn">{needs > 99 ? '99+' : needs}</span>
}

const tabs = new Set(['/inbox', '/now'])

export function TabBar() {
  const slug = useProjectSlug()
  const { destinations } = useDestinations()
  const [open, setOpen] = useState(false)
  return (
    <nav className="tabbar" aria-label={words.main}>
      {destinations
        .filter(({ to }) => tabs.has(to))
        .map(({ to, label, icon: Icon }) => (
          <Link key={to} to={to}>
            <span className="tabi">
              <Icon className="i s20" aria-hidden />
              {to === '/inbox' && <InboxBadge />}
            </span>
            {label}
          </Link>
        ))}
      {slug ? (
        <Link to={projectAddress(slug, '/tasks')}>
          <SquareKanban className="i s20" aria-hidden />
          {words.views.tasks}
        </Link>
      ) : (
        <Link to="/projects">
          <FolderKanban className="i s20" aria-hidden />
          {words.groups.projects}
        </Link>
      )}
      <button type="button" onClick={openPalette}>
        <Search className="i s20" aria-hidden />
        {words.search}
      </button>
      <button type="button" onClick={() => setOpen(true)}>
        <MenuIcon className="i s20" aria-hidden />
        {words.more}
      </button>
      {open && (
        <Suspense>
          <More onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </nav>
  )
}
