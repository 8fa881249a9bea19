/** On a phone: everything that the sidebar and the bar above the page lead to. */
import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { Dialog } from '../components/form/dialog.tsx'
import { words } from '../words.ts'
import { SidebarEntries } from './sidebar/sidebar.tsx'
import { TeamMenu } from './sidebar/team-menu.tsx'
import { AccountMenu, AssistantLink, HelpMenu, ThemeSwitch } from './top-bar.tsx'

export function MoreSheet({ onClose }: { onClose(): void }) {
  const href = useLocation({ select: ({ href }) => href })
  const opened = useRef(href)
  useEffect(() => {
    if (href !== opened.current) onClose()
  }, [href, onClose])
  return (
    <Dialog title={words.more} open onClose={onClose}>
      <div className="row">
        <TeamMenu />
        <span className="grow" />
        <HelpMenu />
        <AssistantLink />
        <ThemeSwitch />
        <AccountMenu />
      </div>
      <nav className="sheetnav" aria-label={words.main}>
        <SidebarEntries />
      </nav>
    </Dialog>
  )
}
