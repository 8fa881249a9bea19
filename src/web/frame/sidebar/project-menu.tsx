/** The menu of a project in the sidebar: favourite, settings, export, share and archive. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Archive, Download, Ellipsis, Palette, Share2, Star } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { ProjectDetail } from '../../../features/projects/schema.ts'
import { useFavourites } from '../../account/favourites.ts'
import { readFile } from '../../api.ts'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import type { MenuEntry } from '../../components/menu.tsx'
import { toast } from '../../components/toasts.tsx'
import { lazy } from '../../lib/lazy.ts'
import { saveFile } from '../../lib/save-file.ts'
import type { ProjectDialog } from '../../routes/project/dialogs.tsx'
import { projectQuery, useProjectChange } from '../../routes/project/queries.ts'
import { words } from '../../words.ts'

const Dialogs = lazy(() => import('../../routes/project/dialogs.tsx'))
const { projectMenu: w } = words

interface Named {
  id: string
  slug: string
  name: string
}

export function ProjectMenu({ project: { id, slug, name } }: { project: Named }) {
  const cache = useQueryClient()
  const [wanted, setWanted] = useState(false)
  const [asked, setAsked] = useState<ProjectDialog>()
  const project = useQuery({ ...projectQuery(slug), enabled: wanted }).data
  const { ids, toggle } = useFavourites()
  const archive = useArchive(project, name)
  const load = () => {
    setWanted(true)
    void cache.prefetchQuery(projectQuery(slug))
  }
  const actions: Record<string, () => unknown> = {
    favourite: () => toggle(id),
    settings: () => setAsked('settings'),
    export: () => exportProject(slug),
    share: () => setAsked('share'),
    archive,
  }
  return (
    <>
      <LazyMenu
        trigger={
          <button type="button" className="ib s24 dots" aria-label={w.title(name)}>
            <Ellipsis className="i s14" aria-hidden />
          </button>
        }
        onNear={load}
        className="menu wide"
        entries={entriesFor(project, ids.includes(id))}
        onChoose={(value) => void actions[value]?.()}
      />
      {asked && project && (
        <Suspense>
          <Dialogs project={project} asked={asked} onClose={() => setAsked(undefined)} />
        </Suspense>
      )}
    </>
  )
}

/** Returns what the reader may do with the project, as soon as it is loaded. */
function entriesFor(project: ProjectDetail | undefined, isFavourite: boolean): MenuEntry[] {
  const { can } = project ?? {}
  return [
    {
      value: 'favourite',
      label: words.favourite,
      chosen: isFavourite,
      keys: 'Alt+KeyF',
      glyph: <Star className="i" aria-hidden />,
    },
    ...(can?.update === true
      ? [{ value: 'settings', label: w.settings, glyph: <Palette className="i" aria-hidden /> }]
      : []),
    { value: 'export', label: w.export, glyph: <Download className="i" aria-hidden /> },
    ...(can?.share === true
      ? [{ value: 'share', label: w.share, apart: true, glyph: <Share2 className="i" aria-hidden /> }]
      : []),
    ...(can?.archive === true && project?.status === 'active'
      ? [{ value: 'archive', label: w.archive, glyph: <Archive className="i" aria-hidden /> }]
      : []),
  ]
}

async function exportProject(slug: string): Promise<void> {
  try {
    const file = await readFile(`/api/sync/export?format=ndjson&project=${encodeURIComponent(slug)}`)
    saveFile(file, `${slug}.ndjson`)
  } catch (error) {
    toast({ title: error instanceof Error ? error.message : String(error), bad: true })
  }
}

/** Archives the project at once; the message can undo it. The entry is gone by then, so promises tell the outcome. */
function useArchive(project: ProjectDetail | undefined, name: string): () => void {
  const { mutateAsync } = useProjectChange(project ?? { id: '', version: 0 })
  const onError = (error: Error) => toast({ title: error.message, bad: true })
  const undo = () => void mutateAsync({ act: 'restore' }).catch(onError)
  const done = () => toast({ title: w.archived(name), action: { label: words.undo, run: undo } })
  return () => void mutateAsync({ act: 'archive' }).then(done, onError)
}
