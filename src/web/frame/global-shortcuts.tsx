/** The global shortcuts, and the dialogs that they open. */
import { useNavigate } from '@tanstack/react-router'
import { Suspense, useEffect, useRef } from 'react'
import { lazy } from '../lib/lazy.ts'
import { type Command, listenForKeys, useCommands } from '../shortcuts.ts'
import { undoLast } from '../undo.ts'
import { words } from '../words.ts'
import { useDestinations, useProjectSlug } from './current-page.ts'
import { projectAddress, projectViews } from './destinations.ts'
import { closeOverlay, openPalette, openShortcutList, useOverlay } from './overlays.ts'

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))
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
  const goes: Command[] = destinations.flatMap(({ to, label, key }) =>
    key ? [{ keys: `g ${key}`, label: words.keys.go(label), run: () => void navigate({ to }) }] : [],
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
  const common: Command[] = [
    { keys: '$mod+k', label: words.keys.palette, run: openPalette, whileTyping: true },
    { keys: '/', label: words.keys.search, run: openPalette },
    { keys: '$mod+z', label: words.keys.undo, run: undoLast },
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
