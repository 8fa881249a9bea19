/** The field for new tasks: Enter adds one and stays, Escape leaves, a pasted list asks first. */
import { type ClipboardEvent, type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react'
import { Kbd } from '../../../components/status-bar.tsx'
import { toast } from '../../../components/toasts.tsx'
import { addedValues, mayHideAdded } from './filter-values.ts'
import { type Batch, toBatches, useAddTasks } from './queries.ts'
import type { AddProps, AddValues } from './values.ts'
import { words } from './words.ts'

interface FieldProps extends AddProps {
  title: string
  onTitle(title: string): void
  onLeave(isByKey: boolean): void
}

export default function AddField({ name, project, values, search, above, title, onTitle, onLeave }: FieldProps) {
  const { field, asked, said, ask, add, discard } = useAdding(
    project,
    addedValues(values, search),
    mayHideAdded(search),
    above,
  )
  // Lines that were typed before the field was loaded.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only once
  useEffect(() => {
    const lines = title.split('\n')
    const last = lines.pop() ?? ''
    if (lines.length === 0) return
    add(toBatches(lines.filter((line) => line.trim() !== '')))
    onTitle(last)
  }, [])
  const submit = () => {
    if (asked.length > 0) return add(asked)
    if (title.trim() === '') return
    add(toBatches([title.trim()]))
    onTitle('')
  }
  const onPaste = (event: ClipboardEvent) => {
    const lines = linesOf(event.clipboardData.getData('text/plain'))
    if (lines.length < 2) return
    event.preventDefault()
    ask(toBatches(lines))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || (event.key !== 'Enter' && event.key !== 'Escape')) return
    // The page has other plans for these keys.
    event.preventDefault()
    event.stopPropagation()
    if (event.key === 'Enter') submit()
    else if (asked.length > 0) discard()
    else onLeave(true)
  }
  return (
    <div className="addcard">
      <textarea
        ref={field}
        className="addinput"
        rows={1}
        maxLength={200}
        enterKeyHint="done"
        aria-label={words.titleIn(name)}
        value={title}
        onChange={({ target }) => onTitle(target.value.replaceAll('\n', ' '))}
        onPaste={onPaste}
        onKeyDown={onKeyDown}
        onBlur={() => title.trim() === '' && asked.length === 0 && onLeave(false)}
      />
      <div className="row tight t12">
        <span role="status" className="cut">
          {said}
        </span>
        {/* They are pressed before the field loses the focus. */}
        <span className="end row" onPointerDown={(event) => event.preventDefault()}>
          <button type="button" className="btn quiet small" onClick={submit}>
            <Kbd>↵</Kbd> {words.keys.add}
          </button>
          <button type="button" className="btn quiet small" onClick={asked.length > 0 ? discard : () => onLeave(true)}>
            <Kbd>Esc</Kbd> {asked.length > 0 ? words.keys.discard : words.keys.leave}
          </button>
        </span>
      </div>
    </div>
  )
}

/** What is being added, and what waits for an answer: a pasted list, or tasks that the server did not create. */
function useAdding(project: string, values: AddValues, mayHide: boolean, above: number) {
  const field = useRef<HTMLTextAreaElement>(null)
  const [asked, setAsked] = useState<readonly Batch[]>([])
  const [said, setSaid] = useState('')
  const mutate = useAddTasks(project, values, {
    onAdded: (keys) => setSaid(words.added(keys, mayHide)),
    onFailed: (batch, error) => {
      const title = words.notAdded(batch.titles.length, error.message)
      // The field may be gone by now, and the titles with it.
      if (!field.current) return toast({ title, text: batch.titles.join(', '), bad: true })
      setAsked((before) => [...before, batch])
      setSaid(title)
    },
  })
  useFocusInView(field, above)
  const ask = (batches: readonly Batch[]) => {
    setAsked(batches)
    setSaid(words.addList(batches.reduce((n, { titles }) => n + titles.length, 0)))
  }
  const discard = () => add([])
  const add = (batches: readonly Batch[]) => {
    setAsked([])
    setSaid('')
    for (const batch of batches) mutate(batch)
  }
  return { field, asked, said, ask, add, discard }
}

/** The field has the focus, and stays in view while tasks are added above it. */
function useFocusInView(field: RefObject<HTMLTextAreaElement | null>, above: number): void {
  useEffect(() => {
    field.current?.focus({ preventScroll: true })
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length)
  }, [field])
  // biome-ignore lint/correctness/useExhaustiveDependencies: each added task moves the field
  useEffect(() => {
    // Some browsers return a promise.
    void field.current?.parentElement?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [field, above])
}

/** The lines of a pasted list, without bullets, numbers and boxes. */
const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.replace(/^\s*(?:[-*•]\s+|\d+[.)]\s+)?(?:\[[ x]\]\s+)?/i, '').trim())
    .filter(Boolean)
