import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useRouteContext } from '@tanstack/react-router'
import { ChevronDown, CircleQuestionMark, CircleUser, Moon, Sun, SunMoon } from 'lucide-react'
import { useState } from 'react'
import { Mark, Wordmark } from '../components/glyphs.tsx'
import { Menu } from '../components/overlay.tsx'
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

function TeamSwitch() {
  const { team } = useRouteContext({ from: '/inside' })
  const teams = useQuery(teamsQuery).data ?? []
  const navigate = useNavigate()
  const name = teams.find(({ id }) => id === team.id)?.name ?? ''
  return (
    <Menu
      trigger={
        <button type="button" className="btn quiet small team" aria-label={words.switchTeam(name)}>
          {name}
          <ChevronDown className="i s12" aria-hidden />
        </button>
      }
      entries={teams.map(({ slug, name, id }) => ({ value: slug, label: name, chosen: id === team.id }))}
      onChoose={(slug) => void navigate({ to: '/projects', search: { team: slug } })}
    />
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
