/**
 * A new task: title, description, files, criteria and properties. Escape leaves the text for the row of properties, and
 * closes the dialog from there; the draft stays on this device.
 */
import { Dialog as Base } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useRouteContext } from '@tanstack/react-router'
import { ChevronDown, ChevronRight, X } from 'lucide-react'
import { type KeyboardEvent, type RefObject, useLayoutEffect, useRef, useState } from 'react'
import { projectsQuery } from '../../account/session.ts'
import { newIdempotencyKey } from '../../api.ts'
import { Menu } from '../../components/menu.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { Kbd } from '../../components/status-bar.tsx'
import { Editor, insertFile } from '../../components/text/editor.tsx'
import { FileTray, fileMarkdown, type StoredFile, useFiles } from '../../components/text/files.tsx'
import { toast } from '../../components/toasts.tsx'
import { keyLabels } from '../../shortcuts.ts'
import { useCompletionSources } from '../../writing/completion-sources.tsx'
import { pendingStore } from '../../writing/file-stores.ts'
import { useCreateTask } from '../tasks/queries.ts'
import { Criteria } from './criteria.tsx'
import { type NewTaskValues, toInput, useNewTask } from './fields.ts'
import { Properties } from './properties.tsx'
import { SimilarTasks } from './similar.tsx'
import { words } from './words.ts'

interface Project {
  id: string
  slug: string
  name: string
}

interface Props {
  project: Project
  values?: NewTaskValues | undefined
  onClose(): void
}

export default function NewTaskDialog({ project, values, onClose }: Props) {
  const title = useRef<HTMLTextAreaElement>(null)
  return (
    <Base.Root open onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="veil" />
        <Base.Popup className="dialog newtask" initialFocus={title}>
          <NewTaskForm project={project} values={values} title={title} onClose={onClose} />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

/** The files of the task, whose Markdown is in the description. */
function useNewTaskFiles(
  { task, change }: ReturnType<typeof useNewTask>,
  text: { current: HTMLTextAreaElement | null },
) {
  return useFiles(pendingStore, {
    known: task.files,
    onStored: (file) => {
      change((before) => ({ files: [...before.files, file] }))
      insertFile(text.current, file, { value: task.description, onChange: (description) => change({ description }) })
    },
    onRemoved: (file: StoredFile) =>
      change(({ files, description }) => ({
        files: files.filter(({ id }) => id !== file.id),
        description: description.replace(`${fileMarkdown(file)}\n`, '').replace(fileMarkdown(file), ''),
      })),
  })
}

/** Creates the task. `Create more` keeps the dialog with its properties. */
function useCreation(form: ReturnType<typeof useNewTask>, project: Project) {
  const [key, setKey] = useState(newIdempotencyKey)
  const navigate = useNavigate()
  const { mutate, isPending, error } = useCreateTask(project.id, project.slug)
  const create = (onCreated: () => void) =>
    mutate(
      { ...toInput(form.task), key },
      {
        onSuccess: (made) => {
          toast({
            title: words.created(made.key),
            action: { label: words.open, run: () => void navigate({ to: '/tasks/$key', params: { key: made.key } }) },
          })
          setKey(newIdempotencyKey())
          form.discardDraft()
          onCreated()
        },
      },
    )
  return { create, isPending, error }
}

interface FormProps extends Props {
  title: RefObject<HTMLTextAreaElement | null>
}

function NewTaskForm({ project: first, values = {}, title, onClose }: FormProps) {
  const form = useNewTask(values)
  const { task, change } = form
  const [project, setProject] = useState(first)
  const [isMore, setMore] = useState(false)
  const text = useRef<HTMLTextAreaElement>(null)
  const row = useRef<HTMLFieldSetElement>(null)
  const files = useNewTaskFiles(form, text)
  const { create, isPending, error } = useCreation(form, project)
  const complete = useCompletionSources()
  // The dialog would do it one frame later, when a key may already have been pressed.
  useLayoutEffect(() => title.current?.focus(), [title])
  const submit = () => {
    if (task.title.trim() === '' || isPending || files.isBusy) return
    create(() => {
      if (!isMore) return onClose()
      form.clearTexts()
      files.clear()
      title.current?.focus()
    })
  }
  const toProperties = () => row.current?.querySelector('button')?.focus()
  return (
    <form
      className="ntform"
      onSubmit={(event) => {
        event.preventDefault()
        // The form of a dialog over this one is sent by itself.
        if (event.target === event.currentTarget) submit()
      }}
      onKeyDown={(event) => handleKey(event, submit, toProperties)}
      {...files.handlers}
    >
      <Head
        project={project}
        onProject={(next) => {
          setProject(next)
          change({ story: null, blockers: [] })
        }}
      />
      <div className="ntbody">
        <TitleField field={title} value={task.title} onText={(text) => change({ title: text })} />
        <Editor
          field={text}
          label={words.description}
          placeholder={words.addText}
          value={task.description}
          onChange={(description) => change({ description })}
          maxLength={50_000}
          rows={3}
          bar="open"
          complete={complete}
          files={files}
          onSave={submit}
          onEscape={toProperties}
        />
        <FileTray files={files} all />
        <Criteria criteria={task.acceptance} onChange={(acceptance) => change({ acceptance })} />
        <Properties task={task} projectId={project.id} onChange={change} row={row} />
        <SimilarTasks title={task.title} project={project.id} />
        {error && <ProblemBox error={error} />}
      </div>
      <Foot isMore={isMore} onMore={setMore} disabled={isPending || files.isBusy || task.title.trim() === ''} />
    </form>
  )
}

interface TitleProps {
  field: RefObject<HTMLTextAreaElement | null>
  value: string
  onText(title: string): void
}

const TitleField = ({ field, value, onText }: TitleProps) => (
  <textarea
    ref={field}
    className="bare nttitle"
    aria-label={words.title}
    placeholder={words.title}
    rows={1}
    maxLength={200}
    required
    value={value}
    onChange={(event) => onText(event.currentTarget.value.replaceAll('\n', ' '))}
  />
)

/** Enter in the title and ⌘↵ anywhere create the task. Escape leaves a text field for the properties. */
function handleKey(event: KeyboardEvent<HTMLFormElement>, submit: () => void, toProperties: () => void): void {
  if (event.defaultPrevented) return
  const { target, key } = event
  const isText = target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement
  const isTitle = target instanceof HTMLTextAreaElement && target.classList.contains('nttitle')
  const isCommand = event.metaKey || event.ctrlKey
  const creates = key === 'Enter' && (isCommand || isTitle) && !event.nativeEvent.isComposing
  // A field of a dialog over this one is no field of the task.
  if (!event.currentTarget.contains(target as Node) || (!creates && !(key === 'Escape' && isText))) return
  event.preventDefault()
  event.stopPropagation()
  if (creates) submit()
  else toProperties()
}

function Head({ project, onProject }: { project: Project; onProject(project: Project): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const [enabled, setEnabled] = useState(false)
  const projects = useQuery({ ...projectsQuery(team.id), enabled }).data ?? [project]
  return (
    <div className="row tight nthead">
      <Menu
        trigger={
          <button type="button" className="btn small">
            <span className="hide">{words.project}: </span>
            {project.name}
            <ChevronDown className="i s12" aria-hidden />
          </button>
        }
        onNear={() => setEnabled(true)}
        entries={projects.map(({ id, name }) => ({ value: id, label: name, chosen: id === project.id }))}
        onChoose={(id) => onProject(projects.find((one) => one.id === id) ?? project)}
      />
      <ChevronRight className="i s12 soft hp" aria-hidden />
      <Base.Title className="b5 t13 hp">{words.newTask}</Base.Title>
      <span className="grow" />
      <Base.Close className="ib" aria-label={words.close}>
        <X className="i" aria-hidden />
      </Base.Close>
    </div>
  )
}

const Foot = ({ isMore, onMore, disabled }: { isMore: boolean; onMore(is: boolean): void; disabled: boolean }) => (
  <div className="ntfoot">
    <span className="row tight t12 soft hp">
      <Kbd>Esc</Kbd>
      {words.keysThen}
      {['s', 'p', 'a', 'l', 'd'].map((key) => (
        <Kbd key={key}>{key}</Kbd>
      ))}
      {words.setsProperty}
    </span>
    <span className="grow" />
    <label className="row tight t13">
      <input
        type="checkbox"
        role="switch"
        className="switch"
        checked={isMore}
        aria-checked={isMore}
        onChange={(event) => onMore(event.currentTarget.checked)}
      />
      {words.more}
    </label>
    <button type="submit" className="btn main" disabled={disabled}>
      {words.create}
      {keyLabels('$mod+Enter').map((cap) => (
        <Kbd key={cap}>{cap}</Kbd>
      ))}
    </button>
  </div>
)
