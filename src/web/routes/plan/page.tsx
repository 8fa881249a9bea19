/** The plan of a project: epics, their stories and tasks, opened at the one that the address names. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { ClipboardPaste, Plus } from 'lucide-react'
import { type ReactNode, Suspense, useMemo, useState } from 'react'
import type { Tree } from '../../../features/planning/schema.ts'
import { Kbd, KeyHint, useSetStatusBar, useStatusBarLeft } from '../../components/status-bar.tsx'
import { toast } from '../../components/toasts.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { lazy } from '../../lib/lazy.ts'
import { useKey } from '../../shortcuts.ts'
import { words as common } from '../../words.ts'
import { projectQuery } from '../project/queries.ts'
import { FocusedTaskKeys } from '../task/focused-task-keys.tsx'
import { AddEntryForm, type EntryPlace } from './add-form.tsx'
import { EmptyPlan } from './empty.tsx'
import { type PlanEntry, type PlanMove, planRows } from './model.ts'
import { treeQuery, useChangePlan, useRemoveEntry } from './queries.ts'
import { PlanTree } from './tree.tsx'
import { words } from './words.ts'

const About = lazy(() => import('./subject.tsx'))
const OutlineDialog = lazy(() => import('./outline-dialog.tsx'))
const TaskPanel = lazy(async () => ({ default: (await import('../task/panel.tsx')).TaskPanel }))

const keysOfPlan = (
  <>
    <KeyHint keys="Alt+ArrowUp ArrowDown" text={words.keys.move} />
    <KeyHint keys="F2" text={words.keys.rename} />
    <KeyHint keys="Enter" text={words.keys.open} />
  </>
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
  const rows = useMemo(() => planRows(tree, closed), [tree, closed])
  const [adding, setAdding] = useState<EntryPlace>()
  const [pasting, setPasting] = useState(false)
  const acts = usePlanActions(slug)
  usePlanCrumbs(project, tree, epicId, storyId)
  useKey('Escape', () => show(undefined))
  useKey('c', () => may && setAdding({ kind: 'epic', parent: null, epicId: null, to: project.name }), {
    label: words.newEpic,
  })
  useStatusBarLeft(keysOfPlan)
  const toggle = ({ id }: PlanEntry, isOpen: boolean) =>
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
      <Bar project={project} isShown={rows.length > 0 || adding !== undefined}>
        {buttons}
      </Bar>
      {epicId && (
        <Suspense>
          <About slug={slug} epicId={epicId} storyId={storyId} />
        </Suspense>
      )}
      {adding && <AddEntryForm slug={slug} adding={adding} onClose={() => setAdding(undefined)} />}
      {rows.length === 0 ? (
        <EmptyPlan projectKey={project.key}>{buttons}</EmptyPlan>
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
      <FocusedTaskKeys />
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

interface BarProps {
  project: { name: string; stats: { tasksDone: number; tasks: number } }
  isShown: boolean
  children: ReactNode
}

/** On a phone the bar makes room for a task that is open; the heading stays. */
const Bar = ({ project: { name, stats }, isShown, children }: BarProps) => (
  <>
    <h1 className="hide">{words.title(name)}</h1>
    {isShown && (
      <div className="viewbar">
        <b className="h2 hp" aria-hidden>
          {words.plan}
        </b>
        <span className="soft t13 hp">{words.done(stats.tasksDone, stats.tasks)}</span>
        <span className="grow" />
        {children}
      </div>
    )}
  </>
)

/** Names the epic or story that the address names, as part of the plan. */
function usePlanCrumbs(
  { name, slug }: { name: string; slug: string },
  { epics }: Tree,
  epicId: string | undefined,
  storyId: string | undefined,
): void {
  const epic = epics.find(({ id }) => id === epicId)
  const named = epic?.stories.find(({ id }) => id === storyId) ?? epic
  const home = `/projects/${slug}`
  useCrumbs(
    { label: name, to: home },
    { label: words.plan, ...(named && { to: `${home}/plan` }) },
    ...(named ? [{ label: named.title, record: named.id }] : []),
  )
}

/** The actions on entries. Each is named in the status bar, and a deletion can be undone. */
function usePlanActions(slug: string) {
  const set = useSetStatusBar()
  const { mutate } = useChangePlan(slug, (entry, error) => {
    set({ right: words.movedBack(entry.title) })
    toast({ title: words.movedBack(entry.title), text: error.message, bad: true })
  })
  const { remove, restore } = useRemoveEntry(slug)
  const undo = (entry: PlanEntry) =>
    restore.mutate(entry, {
      onSuccess: () => toast({ title: words.restored(entry.title) }),
      onError: (error) => toast({ title: entry.title, text: error.message, bad: true }),
    })
  return {
    onMove: (move: PlanMove) => {
      set({ right: words.moved(move.entry.title) })
      const { entry, to, after } = move
      mutate({ entry, move, fields: { to, after } })
    },
    onRename: (entry: PlanEntry, title: string) => mutate({ entry, fields: { title } }),
    onRemove: (entry: PlanEntry) =>
      remove.mutate(entry, {
        onSuccess: () =>
          toast({ title: words.removed(entry.title), action: { label: common.undo, run: () => undo(entry) } }),
        onError: (error) => toast({ title: entry.title, text: error.message, bad: true }),
      }),
  }
}
