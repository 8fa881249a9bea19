/** The plan of a project: epics, their stories and tasks, opened at the one that the address names. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { ClipboardPaste, Plus } from 'lucide-react'
import { Suspense, useMemo, useState } from 'react'
import { Kbd, useFoot, useFootLeft } from '../../components/foot.tsx'
import { toast } from '../../components/toasts.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { useKey } from '../../keys.ts'
import { lazy } from '../../lazy.ts'
import { words as common } from '../../words.ts'
import { projectQuery } from '../project/queries.ts'
import { AddForm, type Adding } from './adding.tsx'
import { Nothing } from './empty.tsx'
import { type Entry, type Move, rowsOf } from './model.ts'
import { treeQuery, useChange, useRemove } from './queries.ts'
import { PlanTree } from './tree.tsx'
import { words } from './words.ts'

const OutlineDialog = lazy(() => import('./outline-dialog.tsx'))
const TaskPanel = lazy(async () => ({ default: (await import('../task/panel.tsx')).TaskPanel }))

const keysOfPlan = (
  <span className="row">
    <Kbd>Alt</Kbd>
    <Kbd>↑↓</Kbd>
    {words.keys.move}
    <Kbd>F2</Kbd>
    {words.keys.rename}
    <Kbd>↵</Kbd>
    {words.keys.open}
  </span>
)

export function PlanPage() {
  const { slug = '', epicId, storyId } = useParams({ strict: false })
  const { open } = useSearch({ strict: false }) as { open?: string }
  const navigate = useNavigate()
  const show = (key: string | undefined) =>
    void navigate({ to: '.', search: (before: object) => ({ ...before, open: key }) })
  const project = useSuspenseQuery(projectQuery(slug)).data
  const tree = useSuspenseQuery(treeQuery(slug)).data
  const may = project.can?.write === true
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const rows = useMemo(() => rowsOf(tree, closed), [tree, closed])
  const [adding, setAdding] = useState<Adding>()
  const [pasting, setPasting] = useState(false)
  const acts = useActs(slug)
  useCrumbs({ label: project.name, to: `/projects/${project.slug}` }, { label: words.plan })
  useKey('Escape', () => show(undefined))
  useKey('c', () => may && setAdding({ kind: 'epic', parent: null, epicId: null, to: project.name }), {
    label: words.newEpic,
  })
  useFootLeft(keysOfPlan)
  const toggle = ({ id }: Entry, isOpen: boolean) =>
    setClosed((before) => new Set(isOpen ? [...before].filter((one) => one !== id) : [...before, id]))
  const buttons = may && (
    <>
      <button type="button" className="btn small" onClick={() => setPasting(true)}>
        <ClipboardPaste className="i s14" aria-hidden />
        {words.paste}
      </button>
      <button
        type="button"
        className="btn main small"
        onClick={() => setAdding({ kind: 'epic', parent: null, epicId: null, to: project.name })}
      >
        <Plus className="i s14" aria-hidden />
        {words.newEpic} <Kbd>c</Kbd>
      </button>
    </>
  )
  return (
    <>
      <h1 className="hide">{words.title(project.name)}</h1>
      {(rows.length > 0 || adding) && (
        <div className="viewbar">
          {adding ? null : <span className="grow" />}
          {buttons}
        </div>
      )}
      {adding && <AddForm slug={slug} adding={adding} onClose={() => setAdding(undefined)} />}
      {rows.length === 0 ? (
        <Nothing projectKey={project.key}>{buttons}</Nothing>
      ) : (
        <PlanTree
          slug={slug}
          name={words.title(project.name)}
          tree={tree}
          rows={rows}
          selected={storyId ?? epicId}
          may={may}
          onToggle={toggle}
          onOpen={show}
          onAdd={setAdding}
          {...acts}
        />
      )}
      {tree.left > 0 && (
        <p className="querywrap soft">
          {words.left(tree.left)}{' '}
          <Link className="link" to="/projects/$slug/tasks" params={{ slug }} search={{ view: 'list' }}>
            {words.leftAll}
          </Link>
        </p>
      )}
      <Suspense>
        {pasting && <OutlineDialog slug={slug} onClose={() => setPasting(false)} />}
        {open && <TaskPanel key={open} taskKey={open} onClose={() => show(undefined)} />}
      </Suspense>
    </>
  )
}

/** What is done with entries. Each act is said in the foot line, and a deletion can be undone. */
function useActs(slug: string) {
  const { set } = useFoot()
  const { mutate } = useChange(slug, (entry, error) => {
    set({ right: words.movedBack(entry.title) })
    toast({ title: words.movedBack(entry.title), text: error.message, bad: true })
  })
  const { remove, restore } = useRemove(slug)
  const undo = (entry: Entry) =>
    restore.mutate(entry, {
      onSuccess: () => toast({ title: words.restored(entry.title) }),
      onError: (error) => toast({ title: entry.title, text: error.message, bad: true }),
    })
  return {
    onMove: (move: Move) => {
      set({ right: words.moved(move.entry.title) })
      const { entry, to, after } = move
      mutate({ entry, move, fields: { to, after } })
    },
    onRename: (entry: Entry, title: string) => mutate({ entry, fields: { title } }),
    onRemove: (entry: Entry) =>
      remove.mutate(entry, {
        onSuccess: () =>
          toast({ title: words.removed(entry.title), action: { label: common.undo, run: () => undo(entry) } }),
        onError: (error) => toast({ title: entry.title, text: error.message, bad: true }),
      }),
  }
}
