/** The settings of an account: a list of pages beside the one that is open. */
import { Link, Outlet } from '@tanstack/react-router'
import { pages } from './names.ts'
import { titles, words } from './words.ts'

export const SettingsLayout = () => (
  <div className="scroll">
    <div className="page settings">
      <nav className="setnav" aria-label={words.settings}>
        {pages.map((page) => (
          <Link key={page} className="nav" to={`/settings/${page}`}>
            {titles[page]}
          </Link>
        ))}
      </nav>
      <div className="setpage">
        <Outlet />
      </div>
    </div>
  </div>
)
