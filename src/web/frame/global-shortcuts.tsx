/** The global shortcuts, and the dialogs that they open. */
import { useLocation, useNavigate } from '@tanstack/react-router'
import { Suspense, useEffect, useRef } from 'react'
import { useFavourites } from '../account/favourites.ts'
import { toggleIconsOnly } from '../account/sidebar-width.ts'
import { lazy } from '../lib/lazy.ts'
import { type Command, listenForKeys, useCommands } from '../shortcuts.ts'
import { undoLast } from '../undo.ts'
import { words } from '../words.ts'
import { useDestinations, useProjectSlug } from './current-page.ts'
import { projectAddress, projectViews } from './destinations.ts'
import { usePageRecord } from './favourite-star.tsx'
import { closeOverlay, openPalette, openShortcutList, useOverlay } from './overlays.ts'

const Palette = lazy(async () => ({ default: (await import('./palette/palette.tsx')).Palette }))
const KeyList = lazy(async () => ({ default: (await import('./shortcut-list.tsx')).ShortcutList }))

export function GlobalShortcuts() {
  useEffect(listenForKeys, [])
  const overlay = useOverlay()
  const navigate = useNavigate()
  const { destinations } = useDestinations()
  const slug = useProjectSlug()
  /** The project of `g t` and `g f`: this one, else the one that the reader was in last. */
  const project = useRef(slug)
  if (slug) project.current = slug
  const goes: Command[] = destinations.flatMap(({ to, search, label, key }) =>
    key
      ? [{ keys: `g ${key}`, label: words.keys.go(label), run: () => void navigate({ to, ...(search && { search }) }) }]
      : [],
  )
  const goesIn: Command[] = projectViews.flatMap(({ path, label, key }) =>
    key
      ? [
          {
            keys: `g ${key}`,
            label: words.keys.go(label),
            run: () => void navigate({ to: project.current ? projectAddress(project.current, path) : '/projects' }),
          },
        ]
      : [],
  )
  const record = usePageRecord()
  const { toggle } = useFavourites()
  const isTask = useLocation({ select: ({ pathname }) => pathname.startsWith('/tasks/') })
  const favourites: Command[] = (isTask ? ['Alt+KeyF', 'Shift+B'] : ['Alt+KeyF']).flatMap((keys) =>
    record ? [{ keys, label: words.favourite, run: () => toggle(record) }] : [],
  )
  const common: Command[] = [
    { keys: '$mod+k', label: words.keys.palette, run: openPalette, whileTyping: true },
    { keys: '/', label: words.keys.search, run: openPalette },
    { keys: '$mod+z', label: words.keys.undo, run: undoLast },
    { keys: '$mod+/', label: words.sidebarIcons, run: toggleIconsOnly },
    ...favourites,
    { keys: '[Shift]+?', label: words.keys.help, run: openShortcutList },
  ]
  useCommands([...common, ...goes, ...goesIn].map((command) => ({ ...command, scope: 'global', keysOnly: true })))
  return (
    <Suspense>
      {overlay === 'palette' && <Palette onClose={closeOverlay} />}
      {overlay === 'keys' && <KeyList onClose={closeOverlay} />}
    </Suspense>
  )
}
