import { Link, useNavigate, useRouteContext } from '@tanstack/react-router'
import { ChevronRight, CircleQuestionMark, Moon, Search, Sparkles, Sun, SunMoon } from 'lucide-react'
import { Fragment, useState } from 'react'
import { useFirstSteps } from '../account/first-steps.ts'
import { nextTheme, storedTheme, storeTheme, type Theme } from '../account/theme.ts'
import { accounts, ok } from '../api.ts'
import { Avatar } from '../components/avatar.tsx'
import { Mark, Wordmark } from '../components/glyphs.tsx'
import { LazyMenu } from '../components/lazy-menu.tsx'
import { Kbd } from '../components/status-bar.tsx'
import { useTitle } from '../crumbs.ts'
import { usePresence } from '../live/presence.ts'
import { clearDevice } from '../service-worker.ts'
import { keyLabels } from '../shortcuts.ts'
import { waitingCode } from '../waiting/send-or-wait.ts'
import { waitingEdits } from '../waiting/waiting-edits.tsx'
import { words } from '../words.ts'
import { removeDrafts } from '../writing/device-drafts.ts'
import { useBreadcrumbs, useDestinations } from './current-page.ts'
import { FavouriteStar } from './favourite-star.tsx'
import { openPalette, openShortcutList } from './overlays.ts'
import { TeamMenu } from './sidebar/team-menu.tsx'

export const TopBar = () => (
  <header className="top">
    <Link className="brand" to="/" aria-label={words.home}>
      <Mark />
      <Wordmark />
    </Link>
    <TeamMenu />
    <Crumbs />
    <FavouriteStar />
    <span className="grow" />
    <button type="button" className="find" title={words.find} onClick={openPalette}>
      <Search className="i" aria-hidden />
      <span className="grow cut">{words.find}</span>
      <span className="row tight" aria-hidden>
        {keyLabels('$mod+k').map((cap) => (
          <Kbd key={cap}>{cap}</Kbd>
        ))}
      </span>
    </button>
    <PresentParties />
    <HelpMenu />
    <AssistantLink />
    <ThemeSwitch />
    <AccountMenu />
  </header>
)

function Crumbs() {
  const crumbs = useBreadcrumbs()
  useTitle(crumbs)
  return (
    <nav className="crumbs" aria-label={words.crumbs}>
      {crumbs.map(({ label, to }, place) => (
        <Fragment key={`${label}${to ?? ''}`}>
          {place > 0 && <ChevronRight className="i s12" aria-hidden />}
          {place === crumbs.length - 1 ? (
            <b className="cut" aria-current="page">
              {label}
            </b>
          ) : to ? (
            <Link to={to}>{label}</Link>
          ) : (
            <span>{label}</span>
          )}
        </Fragment>
      ))}
    </nav>
  )
}

/** Faces in the bar; more than these are counted. */
const FACES = 5

/** Who is online: people, then agents. */
function PresentParties() {
  const { me } = useRouteContext({ from: '/inside' })
  // The reader's own face opens the menu of their account.
  const present = usePresence().filter(({ id }) => id !== me.id)
  if (present.length === 0) return null
  const people = present.filter(({ type }) => type === 'user')
  const agents = present.filter(({ type }) => type === 'agent')
  return (
    <span className="crowd" role="group" aria-label={words.here(present.map(({ name }) => name).join(', '))}>
      <Faces of={people} />
      {people.length > 0 && agents.length > 0 && <span className="sep" />}
      <Faces of={agents} />
    </span>
  )
}

const Faces = ({ of }: { of: ReturnType<typeof usePresence> }) => (
  <>
    {of.slice(0, FACES).map((party) => (
      <Avatar key={party.id} party={party} size="m" />
    ))}
    {of.length > FACES && <span className="t12 soft">{words.others(of.length - FACES)}</span>}
  </>
)

/** Leads to the assistant. */
export const AssistantLink = () => (
  <Link className="ib" to="/assistant" aria-label={words.askAssistant} title={words.askAssistant}>
    <Sparkles className="i" aria-hidden />
  </Link>
)

export function HelpMenu() {
  const navigate = useNavigate()
  const { destinations } = useDestinations()
  const { keys, manual, reference, steps, report } = words.helpMenu
  const chooseSteps = useFirstSteps()
  const entries = [
    { value: 'keys', label: keys },
    { value: '/manual', label: manual },
    { value: '/api/reference', label: reference },
    { value: 'steps', label: steps },
    ...(destinations.some(({ to }) => to === '/issues') ? [{ value: '/issues', label: report }] : []),
  ]
  return (
    <LazyMenu
      trigger={
        <button type="button" className="ib" aria-label={words.help}>
          <CircleQuestionMark className="i" aria-hidden />
        </button>
      }
      entries={entries}
      onChoose={(value) => {
        if (value === 'keys') openShortcutList()
        else if (value === 'steps') {
          chooseSteps('on')
          void navigate({ to: '/' })
        } else if (value === '/issues') void navigate({ to: value, search: { new: '1' } })
        else location.assign(value)
      }}
    />
  )
}

export function AccountMenu() {
  const { me } = useRouteContext({ from: '/inside' })
  const navigate = useNavigate()
  const { settings, signOut } = words.accountMenu
  return (
    <LazyMenu
      trigger={
        <button type="button" className="ib">
          <span className="hide">{words.account(me.name)}</span>
          <span aria-hidden>
            <Avatar party={{ type: 'user', id: me.id, name: me.name }} size="m" />
          </span>
        </button>
      }
      entries={[
        { value: 'settings', label: settings },
        { value: 'out', label: signOut },
      ]}
      onChoose={(value) => void (value === 'out' ? endSession() : navigate({ to: '/settings/profile' }))}
    />
  )
}

async function endSession(): Promise<void> {
  if (waitingEdits.get().length > 0 && !waitingCode.get()?.confirmLoss()) return
  await ok(accounts.auth.logout.post()).catch(() => undefined)
  removeDrafts()
  await clearDevice()
  location.assign('/login')
}

const themeIcons = { light: Sun, dark: Moon, system: SunMoon }

export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(storedTheme)
  const Icon = themeIcons[theme]
  const change = () => {
    storeTheme(nextTheme(theme))
    setTheme(nextTheme(theme))
  }
  return (
    <button type="button" className="ib" aria-label={words.theme[theme]} title={words.theme[theme]} onClick={change}>
      <Icon className="i" aria-hidden />
    </button>
  )
}
