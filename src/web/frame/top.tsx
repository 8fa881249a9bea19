import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useRouteContext } from '@tanstack/react-router'
import { ChevronDown, CircleQuestionMark, CircleUser, Moon, Sun, SunMoon } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { Mark, Wordmark } from '../components/glyphs.tsx'
import { teamsQuery } from '../session.ts'
import { nextTheme, storedTheme, storeTheme, type Theme } from '../theme.ts'
import { words } from '../words.ts'

export const Top = () => (
  <header className="top">
    <Link className="brand" to="/projects" aria-label={words.home}>
      <Mark />
      <Wordmark />
    </Link>
    <TeamSwitch />
    <span className="grow" />
    <a className="ib" href="/manual" aria-label={words.help}>
      <CircleQuestionMark className="i" aria-hidden />
    </a>
    <ThemeSwitch />
    <a className="ib" href="/account" aria-label={words.account}>
      <CircleUser className="i" aria-hidden />
    </a>
  </header>
)

/** Menus are a third of the script, and nobody needs this one at first, so it comes after the page. */
const Menu = lazy(async () => ({ default: (await import('../components/menu.tsx')).Menu }))

function TeamSwitch() {
  const { team } = useRouteContext({ from: '/inside' })
  const teams = useQuery(teamsQuery).data ?? []
  const navigate = useNavigate()
  const name = teams.find(({ id }) => id === team.id)?.name ?? ''
  const button = (
    <button type="button" className="btn quiet small team" aria-label={words.switchTeam(name)}>
      {name}
      <ChevronDown className="i s12" aria-hidden />
    </button>
  )
  return (
    <Suspense fallback={button}>
      <Menu
        trigger={button}
        entries={teams.map(({ slug, name, id }) => ({ value: slug, label: name, chosen: id === team.id }))}
        onChoose={(slug) => void navigate({ to: '/projects', search: { team: slug } })}
      />
    </Suspense>
  )
}

const themeIcons = { light: Sun, dark: Moon, system: SunMoon }

function ThemeSwitch() {
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
