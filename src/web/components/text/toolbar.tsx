/** The toolbar of the editor: Write or Preview, and buttons that edit the text. One stop for Tab; arrows move in it. */
import {
  AtSign,
  Bold,
  Code,
  Hash,
  Heading,
  Italic,
  Link,
  List,
  ListChecks,
  ListOrdered,
  type LucideIcon,
  Paperclip,
  SquareCode,
  Strikethrough,
} from 'lucide-react'
import { type KeyboardEvent, type RefObject, useRef } from 'react'
import {
  applyTextEdit,
  insertCodeBlock,
  insertLink,
  insertTrigger,
  type TextEdit,
  toggleLines,
  toggleMark,
} from './text-edits.ts'

const words = {
  write: 'Write',
  preview: 'Preview',
  mode: 'Write or preview',
  tools: 'Text tools',
  attach: 'Attach files',
}

interface Tool {
  name: string
  icon: LucideIcon
  edit(text: string, from: number, to: number): TextEdit
  /** Offers completions afterwards, which only some editors have. */
  completes?: true
}

const mark =
  (around: string): Tool['edit'] =>
  (text, from, to) =>
    toggleMark(text, from, to, around)
const lines =
  (start: Parameters<typeof toggleLines>[3]): Tool['edit'] =>
  (text, from, to) =>
    toggleLines(text, from, to, start)

const groups: readonly (readonly Tool[])[] = [
  [
    { name: 'Bold', icon: Bold, edit: mark('**') },
    { name: 'Italic', icon: Italic, edit: mark('_') },
    { name: 'Strikethrough', icon: Strikethrough, edit: mark('~~') },
    { name: 'Code', icon: Code, edit: mark('`') },
  ],
  [
    { name: 'Heading', icon: Heading, edit: lines('## ') },
    { name: 'List', icon: List, edit: lines('- ') },
    { name: 'Checklist', icon: ListChecks, edit: lines('- [ ] ') },
    { name: 'Numbered list', icon: ListOrdered, edit: lines('1. ') },
    { name: 'Code block', icon: SquareCode, edit: insertCodeBlock },
  ],
  [
    { name: 'Link', icon: Link, edit: insertLink },
    { name: 'Mention someone', icon: AtSign, edit: (...at) => insertTrigger(...at, '@'), completes: true },
    { name: 'Name a task', icon: Hash, edit: (...at) => insertTrigger(...at, '#'), completes: true },
  ],
]

interface Props {
  field: RefObject<HTMLTextAreaElement | null>
  isPreview: boolean
  onPreview(is: boolean): void
  /** Undefined: the editor has no completions. */
  onComplete: (() => void) | undefined
  /** Undefined: the text holds no files. */
  onFiles: ((files: readonly File[]) => void) | undefined
}

export function Toolbar({ field, isPreview, onPreview, onComplete, onFiles }: Props) {
  const act = ({ edit, completes }: Tool) => {
    const text = field.current
    if (text) applyTextEdit(text, edit(text.value, text.selectionStart, text.selectionEnd))
    if (completes) onComplete?.()
  }
  return (
    <div className="edbar" role="toolbar" aria-label={words.tools} onKeyDown={moveFocus} tabIndex={-1}>
      <fieldset className="seg" aria-label={words.mode}>
        {[false, true].map((is) => (
          <button
            key={String(is)}
            type="button"
            tabIndex={is ? -1 : 0}
            aria-pressed={isPreview === is}
            onClick={() => onPreview(is)}
          >
            {is ? words.preview : words.write}
          </button>
        ))}
      </fieldset>
      {!isPreview &&
        groups.map((group) => (
          <span key={group[0]?.name} className="edgroup">
            {group
              .filter(({ completes }) => !completes || onComplete)
              .map((tool) => (
                <button
                  key={tool.name}
                  type="button"
                  className="ib"
                  tabIndex={-1}
                  aria-label={tool.name}
                  title={tool.name}
                  onClick={() => act(tool)}
                >
                  <tool.icon className="i s14" aria-hidden />
                </button>
              ))}
          </span>
        ))}
      {!isPreview && onFiles && <AttachButton onFiles={onFiles} />}
    </div>
  )
}

function AttachButton({ onFiles }: { onFiles(files: readonly File[]): void }) {
  const picker = useRef<HTMLInputElement>(null)
  return (
    <span className="edgroup">
      <button
        type="button"
        className="ib"
        tabIndex={-1}
        aria-label={words.attach}
        title={words.attach}
        onClick={() => picker.current?.click()}
      >
        <Paperclip className="i s14" aria-hidden />
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
    </span>
  )
}

const steps: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowRight: (at, count) => (at + 1) % count,
  ArrowLeft: (at, count) => (at - 1 + count) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
}

/** Moves the focus between the buttons, as in every toolbar. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = steps[event.key]
  const buttons = [...event.currentTarget.querySelectorAll('button')]
  const at = buttons.indexOf(document.activeElement as HTMLButtonElement)
  if (!step || at === -1) return
  event.preventDefault()
  buttons[step(at, buttons.length)]?.focus()
}
