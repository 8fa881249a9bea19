/** The next version of a spec as it is written. If someone saves another one meanwhile, both are shown. */
import { type FormEvent, useState } from 'react'
import type { Spec, SpecDetail } from '../../../features/specs/schema.ts'
import { Field } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { useSetStatusBar } from '../../components/status-bar.tsx'
import { Diff } from '../../components/text/diff.tsx'
import { Editor } from '../../components/text/editor.tsx'
import { mergeTexts } from '../../components/text/merge.ts'
import { isProblem } from '../../problem.ts'
import { useCompletionSources } from '../../writing/completion-sources.tsx'
import { useFileStore } from '../../writing/file-stores.ts'
import { useReviseSpec } from './queries.ts'
import { words } from './words.ts'

const MOST = 256 << 10

/** The text that is being written, and how it becomes the next version. */
function useNextVersion(spec: SpecDetail, onEnd: () => void) {
  /** The version that the text began with; what others save meanwhile does not move it. */
  const [base, setBase] = useState<Spec>(spec)
  const [theirs, setTheirs] = useState<Spec>()
  const [text, setText] = useState({ title: spec.title, content: spec.content, message: '' })
  const revise = useReviseSpec(spec.id)
  const set = useSetStatusBar()
  const write = (change: Partial<typeof text>) => setText((before) => ({ ...before, ...change }))
  const save = (on: number) => {
    const message = text.message.trim()
    revise.mutate(
      { base: on, title: text.title.trim(), content: text.content, ...(message && { message }) },
      {
        onSuccess: ({ version }) => {
          set({ right: words.saved(version) })
          onEnd()
        },
        onError: (error) => {
          if (isProblem(error) && error.status === 412) setTheirs(error.current as Spec)
        },
      },
    )
  }
  const merge = (content: string) => {
    if (theirs) setBase(theirs)
    setTheirs(undefined)
    write({ content })
    revise.reset()
  }
  return { base, theirs, text, write, save, merge, error: revise.error, busy: revise.isPending }
}

export function SpecEditor({ spec, onEnd }: { spec: SpecDetail; onEnd(): void }) {
  const { base, theirs, text, write, save, merge, error, busy } = useNextVersion(spec, onEnd)
  const store = useFileStore({ kind: 'spec', id: spec.id })
  const complete = useCompletionSources()
  if (theirs)
    return (
      <SpecConflict
        base={base}
        theirs={theirs}
        mine={text.content}
        busy={busy}
        onKeepMine={() => save(theirs.version)}
        onTakeTheirs={onEnd}
        onMerge={merge}
      />
    )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save(base.version)
  }
  return (
    <form className="stack s4" onSubmit={submit}>
      <Field label={words.title} required maxLength={200} value={text.title} onText={(title) => write({ title })} />
      <Editor
        label={words.content}
        value={text.content}
        onChange={(content) => write({ content })}
        maxLength={MOST}
        rows={20}
        isFocused
        complete={complete}
        store={store}
        onSave={() => save(base.version)}
      />
      <Field label={words.message} maxLength={500} value={text.message} onText={(message) => write({ message })} />
      {error && <ProblemBox error={error} />}
      <span className="row">
        <button type="submit" className="btn main" disabled={busy || text.content.trim() === ''}>
          {words.save}
        </button>
        <button type="button" className="btn quiet" onClick={onEnd}>
          {words.cancel}
        </button>
      </span>
    </form>
  )
}

interface ConflictProps {
  base: Spec
  theirs: Spec
  mine: string
  busy: boolean
  onKeepMine(): void
  onTakeTheirs(): void
  onMerge(text: string): void
}

function SpecConflict({ base, theirs, mine, busy, onKeepMine, onTakeTheirs, onMerge }: ConflictProps) {
  return (
    <section className="sheet stack conflict" aria-label={words.conflict} role="alert">
      <header className="padh">
        <h2 className="h2">{words.conflict}</h2>
        <p className="soft">{words.conflictText(base.version, theirs.version)}</p>
      </header>
      <Diff before={theirs.content} after={mine} names={[words.theirs(theirs.version), words.mine]} />
      <footer className="row pad wrap">
        <button type="button" className="btn main" disabled={busy} onClick={onKeepMine}>
          {words.keepMine}
        </button>
        <button type="button" className="btn" onClick={onTakeTheirs}>
          {words.takeTheirs}
        </button>
        <button
          type="button"
          className="btn quiet"
          onClick={() => onMerge(mergeTexts(base.content, mine, theirs.content))}
        >
          {words.merge}
        </button>
      </footer>
    </section>
  )
}
