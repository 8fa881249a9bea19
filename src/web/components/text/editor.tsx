/**
 * The editor of all texts: Markdown with a toolbar, a preview, shortcuts, completion of `[[`, `@` and `#`, and uploads
 * of pasted and dropped files. `⌘↵` saves.
 */
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { type CompletionSources, Completions, useCompletion } from './completions.tsx'
import { type FileStore, type Files, FileTray, fileMarkdown, type StoredFile, useFiles } from './files.tsx'
import { Markdown } from './markdown.tsx'
import { applyTextEdit, continueList, pasteLink, type TextEdit, toggleMark } from './text-edits.ts'
import { Toolbar } from './toolbar.tsx'

const looks = { top: 'editor', foot: 'editor edlow', open: 'editor edlow edopen' } as const
const words = { empty: 'Nothing to preview.' }

interface Props {
  value: string
  onChange(text: string): void
  label: string
  maxLength: number
  rows?: number
  placeholder?: string
  /** Sends the text with its form under this name. */
  name?: string
  required?: boolean
  isFocused?: boolean
  /** Where the toolbar is: above the text, below it while the editor has the focus, or always below it. */
  bar?: 'top' | 'foot' | 'open'
  /** ⌘↵ and ⌘S. Without it, ⌘↵ submits the form around the editor. */
  onSave?(): void
  onEscape?(): void
  /** The focus leaves the editor as a whole. */
  onLeave?(): void
  complete?: CompletionSources | undefined
  /** Where files are stored. Their Markdown is inserted at the caret. */
  store?: FileStore | undefined
  /** Files that the form around the editor uploads and shows, in place of `store`. */
  files?: Files
  field?: RefObject<HTMLTextAreaElement | null>
  /** Addresses of the notes that `[[title]]` names, by title in lower case. */
  titles?: ReadonlyMap<string, string>
  /** Below the text: what became of it, and buttons. */
  children?: ReactNode
}

export function Editor(props: Props) {
  const { value, bar = 'top', complete, onLeave, children } = props
  const own = useRef<HTMLTextAreaElement>(null)
  const field = props.field ?? own
  const [isPreview, setPreview] = useState(false)
  const completion = useCompletion(field, complete)
  const ownFiles = useFiles(props.store, { onStored: (file) => insertFile(field.current, file, props) })
  const files = props.files ?? ownFiles
  const toolbar = (
    <Toolbar
      field={field}
      isPreview={isPreview}
      onPreview={setPreview}
      onComplete={complete && completion.look}
      onFiles={props.files || props.store ? files.add : undefined}
    />
  )
  return (
    <fieldset
      className={looks[bar]}
      onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && onLeave?.()}
    >
      {bar === 'top' && toolbar}
      {isPreview ? (
        <Preview value={value} name={props.name} titles={props.titles} />
      ) : (
        <TextField {...props} field={field} completion={completion} files={files} />
      )}
      <Completions {...completion} />
      {!props.files && <FileTray files={files} />}
      {bar !== 'top' ? (
        <div className="edfoot">
          {toolbar}
          {children}
        </div>
      ) : (
        children && <div className="edfoot">{children}</div>
      )}
    </fieldset>
  )
}

function Preview({ value, name, titles }: Pick<Props, 'value' | 'name' | 'titles'>) {
  return (
    <div className="edprev">
      {name && <input type="hidden" name={name} value={value} />}
      {value.trim() === '' ? <p className="soft">{words.empty}</p> : <Markdown text={value} titles={titles} />}
    </div>
  )
}

interface TextFieldProps extends Props {
  field: RefObject<HTMLTextAreaElement | null>
  completion: ReturnType<typeof useCompletion>
  files: Files
}

function TextField({ field, completion, files, rows = 16, isFocused, ...props }: TextFieldProps) {
  // With Preact, `autoFocus` works only if nothing else has the focus.
  useLayoutEffect(() => {
    if (isFocused) field.current?.focus()
  }, [field, isFocused])
  const onPaste = (event: ClipboardEvent<HTMLTextAreaElement>) => {
    const { value, selectionStart: from, selectionEnd: to } = event.currentTarget
    const link = pasteLink(value, from, to, event.clipboardData.getData('text/plain'))
    if (!link) return files.handlers?.onPaste(event)
    event.preventDefault()
    applyTextEdit(event.currentTarget, link)
  }
  return (
    <textarea
      ref={field}
      className="bare edtext"
      aria-label={props.label}
      rows={rows}
      style={{ minBlockSize: `${rows}lh` }}
      value={props.value}
      maxLength={props.maxLength}
      placeholder={props.placeholder}
      name={props.name}
      required={props.required}
      onChange={(event) => {
        props.onChange(event.currentTarget.value)
        completion.look()
      }}
      onKeyDown={(event) => !completion.onKeyDown(event) && handleKey(event, props)}
      onClick={completion.look}
      {...files.handlers}
      onPaste={onPaste}
      {...completion.attributes}
    />
  )
}

function handleKey(event: KeyboardEvent<HTMLTextAreaElement>, { onSave, onEscape }: Props): void {
  const edit = editOf(event)
  const isSave = isCommand(event) && (event.key === 's' || event.key === 'Enter') && onSave
  if (!edit && !isSave && !(event.key === 'Escape' && onEscape)) return
  event.preventDefault()
  // Escape must not close a dialog around the editor as well.
  event.stopPropagation()
  if (edit) applyTextEdit(event.currentTarget, edit)
  else if (isSave) onSave()
  else onEscape?.()
}

const isCommand = (event: KeyboardEvent): boolean => (event.metaKey || event.ctrlKey) && !event.altKey

function editOf(event: KeyboardEvent<HTMLTextAreaElement>): TextEdit | undefined {
  const { value, selectionStart: from, selectionEnd: to } = event.currentTarget
  if (event.key === 'Enter' && !isCommand(event) && !event.shiftKey && from === to) return continueList(value, from)
  if (!isCommand(event) || event.shiftKey) return undefined
  if (event.key === 'b') return toggleMark(value, from, to, '**')
  return event.key === 'i' ? toggleMark(value, from, to, '_') : undefined
}

/**
 * Inserts the Markdown of a file at the caret, on a line of its own; at the end if the focus is elsewhere, so that no
 * one who writes there is disturbed.
 */
export function insertFile(
  field: HTMLTextAreaElement | null,
  file: StoredFile,
  { value: text, onChange }: Pick<Props, 'value' | 'onChange'>,
): void {
  const markdown = fileMarkdown(file)
  if (!field || document.activeElement !== field) {
    onChange(`${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${markdown}\n`)
    return
  }
  const { value, selectionStart: from, selectionEnd: to } = field
  const isLineStart = from === 0 || value[from - 1] === '\n'
  applyTextEdit(field, { from, to, text: `${isLineStart ? '' : '\n'}${markdown}\n` })
}
