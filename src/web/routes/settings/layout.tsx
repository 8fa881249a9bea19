/** The settings of an account: a list of pages beside the one that is open. */
import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { settingsPageNames } from './names.ts'
import { titles, words } from './words.ts'

export function SettingsLayout() {
  const list = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  // On a phone the list is one line, which may hide the name of the open page.
  useEffect(() => {
    const open = list.current?.querySelector(`a[href^="${pathname}"]`)
    open?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [pathname])
  return (
    <div className="scroll">
      <div className="page settings">
        <nav ref={list} className="setnav" aria-label={words.settings}>
          {settingsPageNames.map((page) => (
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
}
