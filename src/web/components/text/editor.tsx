/** A Markdown editor with shortcuts, completion of `[[` and `@`, file uploads and a preview. */
import { Bold, Italic, Link, List, type LucideIcon, Paperclip } from 'lucide-react'
import { type ClipboardEvent, type DragEvent, type KeyboardEvent, type RefObject, useRef, useState } from 'react'
import { keyLabels } from '../../shortcuts.ts'
import { ProblemBox } from '../states.tsx'
import { Kbd } from '../status-bar.tsx'
import { type CompletionSources, Completions, useCompletion } from './completions.tsx'
import { Markdown } from './markdown.tsx'
import { applyTextEdit, continueList, insertLink, type TextEdit, toggleList, toggleMark } from './text-edits.ts'

const words = {
  write: 'Write',
  preview: 'Preview',
  mode: 'Write or preview',
  bold: 'Bold',
  italic: 'Italic',
  link: 'Link',
  list: 'List',
  attach: 'Attach a file',
  uploading: (name: string) => `Uploading ${name}…`,
  nothing: 'Nothing to preview.',
  note: 'a note',
  person: 'a person',
}

interface Props {
  value: string
  onChange(text: string): void
  label: string
  maxLength: number
  rows?: number
  isFocused?: boolean
  /** ⌘S, or ⌘↵. */
  onSave?(): void
  /** The focus leaves the editor as a whole. */
  onLeave?(): void
  complete?: CompletionSources
  /** Stores a file, and returns the Markdown that shows it. */
  onFile?(file: File): Promise<string>
  /** Addresses of the notes that `[[title]]` names, by title in lower case. */
  titles?: ReadonlyMap<string, string>
}

export function Editor(props: Props) {
  const { value, label, maxLength, rows = 16, isFocused, complete, onLeave } = props
  const field = useRef<HTMLTextAreaElement>(null)
  const [isPreview, setPreview] = useState(false)
  const completion = useCompletion(field, complete)
  const files = useFiles(field, props.onFile)
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (completion.onKeyDown(event)) return
    const edit = editOf(event)
    if (edit) {
      event.preventDefault()
      applyTextEdit(event.currentTarget, edit)
    } else if (isCommand(event) && (event.key === 's' || event.key === 'Enter') && props.onSave) {
      event.preventDefault()
      props.onSave()
    }
  }
  return (
    <fieldset
      className="editor"
      aria-label={label}
      onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && onLeave?.()}
    >
      <Bar field={field} isPreview={isPreview} onPreview={setPreview} onFiles={props.onFile && files.add} />
      {isPreview ? (
        <div className="edprev">
          {value.trim() === '' ? (
            <p className="soft">{words.nothing}</p>
          ) : (
            <Markdown text={value} titles={props.titles} />
          )}
        </div>
      ) : (
        <textarea
          ref={field}
          className="bare edtext"
          aria-label={label}
          rows={rows}
          value={value}
          maxLength={maxLength}
          // biome-ignore lint/a11y/noAutofocus: the reader has just asked to write here
          autoFocus={isFocused}
          onChange={(event) => {
            props.onChange(event.currentTarget.value)
            completion.look()
          }}
          onKeyDown={onKeyDown}
          onClick={completion.look}
          onPaste={files.onPaste}
          onDrop={files.onDrop}
          {...completion.attributes}
        />
      )}
      <Completions {...completion} />
      {files.busy && (
        <p className="soft t12" role="status">
          {words.uploading(files.busy)}
        </p>
      )}
      {files.error && <ProblemBox error={files.error} />}
    </fieldset>
  )
}

const isCommand = (event: KeyboardEvent): boolean => (event.metaKey || event.ctrlKey) && !event.altKey

function editOf(event: KeyboardEvent<HTMLTextAreaElement>): TextEdit | undefined {
  const { value, selectionStart: from, selectionEnd: to } = event.currentTarget
  if (event.key === 'Enter' && !isCommand(event) && !event.shiftKey && from === to) return continueList(value, from)
  if (!isCommand(event) || event.shiftKey) return undefined
  if (event.key === 'b') return toggleMark(value, from, to, '**')
  if (event.key === 'i') return toggleMark(value, from, to, '_')
  return event.key === 'k' ? insertLink(value, from, to) : undefined
}

const tools: { name: 'bold' | 'italic' | 'link' | 'list'; icon: LucideIcon; edit: typeof insertLink }[] = [
  { name: 'bold', icon: Bold, edit: (text, from, to) => toggleMark(text, from, to, '**') },
  { name: 'italic', icon: Italic, edit: (text, from, to) => toggleMark(text, from, to, '_') },
  { name: 'link', icon: Link, edit: insertLink },
  { name: 'list', icon: List, edit: toggleList },
]

interface BarProps {
  field: RefObject<HTMLTextAreaElement | null>
  isPreview: boolean
  onPreview(is: boolean): void
  onFiles: ((files: Iterable<File>) => void) | undefined
}

function Bar({ field, isPreview, onPreview, onFiles }: BarProps) {
  const picker = useRef<HTMLInputElement>(null)
  const act = (edit: typeof insertLink) => {
    const text = field.current
    if (text) applyTextEdit(text, edit(text.value, text.selectionStart, text.selectionEnd))
  }
  return (
    <div className="edbar">
      <fieldset className="seg" aria-label={words.mode}>
        {[false, true].map((is) => (
          <button key={String(is)} type="button" aria-pressed={isPreview === is} onClick={() => onPreview(is)}>
            {is ? words.preview : words.write}
          </button>
        ))}
      </fieldset>
      <span className="grow" />
      {!isPreview &&
        tools.map(({ name, icon: Icon, edit }) => (
          <button key={name} type="button" className="ib" title={words[name]} onClick={() => act(edit)}>
            <Icon className="i s14" aria-label={words[name]} />
          </button>
        ))}
      {!isPreview && onFiles && (
        <>
          <button type="button" className="ib" title={words.attach} onClick={() => picker.current?.click()}>
            <Paperclip className="i s14" aria-label={words.attach} />
          </button>
          <input
            ref={picker}
            className="hide"
            type="file"
            multiple
            tabIndex={-1}
            aria-label={words.attach}
            onChange={(event) => {
              onFiles([...(event.currentTarget.files ?? [])])
              event.currentTarget.value = ''
            }}
          />
        </>
      )}
    </div>
  )
}

/** Uploads pasted, dropped or chosen files one by one, and inserts their Markdown at the caret. */
function useFiles(field: RefObject<HTMLTextAreaElement | null>, store: Props['onFile']) {
  const [busy, setBusy] = useState<string>()
  const [error, setError] = useState<Error>()
  const add = async (files: Iterable<File>) => {
    if (!store) return
    setError(undefined)
    try {
      for (const file of files) {
        setBusy(file.name)
        const text = await store(file)
        const at = field.current
        if (at) applyTextEdit(at, { from: at.selectionStart, to: at.selectionEnd, text })
      }
    } catch (problem) {
      setError(problem as Error)
    } finally {
      setBusy(undefined)
    }
  }
  const take = (event: ClipboardEvent | DragEvent, files: FileList) => {
    if (!store || files.length === 0) return
    event.preventDefault()
    void add([...files])
  }
  return {
    busy,
    error,
    add: (files: Iterable<File>) => void add(files),
    onPaste: (event: ClipboardEvent) => take(event, event.clipboardData.files),
    onDrop: (event: DragEvent) => take(event, event.dataTransfer.files),
  }
}

export const EditorKeys = ({ save }: { save: string }) => (
  <span className="row">
    {keyLabels('$mod+s').map((cap) => (
      <Kbd key={cap}>{cap}</Kbd>
    ))}
    {save}
    <Kbd>[[</Kbd>
    {words.note}
    <Kbd>@</Kbd>
    {words.person}
  </span>
)
