/** The text edits that shortcuts and buttons of the editor make. */

/** Replaces the text between two positions, then selects a part of the new text. */
export interface TextEdit {
  from: number
  to: number
  text: string
  /** Counted from `from`. Default: the end of the text. */
  select?: readonly [number, number]
}

/** Puts Markdown marks around a selection, or removes them. */
export function toggleMark(text: string, from: number, to: number, mark: string): TextEdit {
  const inner = text.slice(from, to)
  const isMarked = text.slice(from - mark.length, from) === mark && text.slice(to, to + mark.length) === mark
  return isMarked
    ? { from: from - mark.length, to: to + mark.length, text: inner, select: [0, inner.length] }
    : { from, to, text: mark + inner + mark, select: [mark.length, mark.length + inner.length] }
}

/** Makes a link of a selection. A selected address becomes the target, other text the label; the rest is selected. */
export function insertLink(text: string, from: number, to: number): TextEdit {
  const inner = text.slice(from, to)
  if (isAddress(inner)) return { from, to, text: `[](${inner})`, select: [1, 1] }
  return { from, to, text: `[${inner}](https://)`, select: [inner.length + 3, inner.length + 11] }
}

/** Makes a link of a selected text when a web address is pasted over it. Undefined if it is pasted as text. */
export function pasteLink(text: string, from: number, to: number, pasted: string): TextEdit | undefined {
  const [inner, address] = [text.slice(from, to), pasted.trim()]
  const isLabel = inner.trim() !== '' && !inner.includes('\n') && !isAddress(inner)
  return isLabel && isAddress(address) ? { from, to, text: `[${inner}](${address})` } : undefined
}

const isAddress = (text: string): boolean => /^https?:\/\/\S+$/.test(text)

type LineStart = '- ' | '1. ' | '- [ ] ' | '## '
const anyStart = /^(\s*)(?:- \[[ x]\] |[-*+] |\d+[.)] |#{1,6} )/

/** Begins the selected lines with this mark in place of any other, or removes it if all lines have it. */
export function toggleLines(text: string, from: number, to: number, mark: LineStart): TextEdit {
  const start = text.lastIndexOf('\n', from - 1) + 1
  const next = text.indexOf('\n', to)
  const end = next === -1 ? text.length : next
  const lines = text.slice(start, end).split('\n')
  const own = mark === '1. ' ? /^\s*\d+\. / : mark === '- ' ? /^\s*- (?!\[[ x]\] )/ : undefined
  const isMarked = lines.every((line) => (own ? own.test(line) : line.trimStart().startsWith(mark)))
  const plain = lines.map((line) => line.replace(anyStart, '$1'))
  const marked = plain.map((line, place) => (mark === '1. ' ? `${place + 1}. ${line}` : mark + line))
  return { from: start, to: end, text: (isMarked ? plain : marked).join('\n') }
}

/** Makes a block of code of the selected lines. */
export function insertCodeBlock(text: string, from: number, to: number): TextEdit {
  const inner = text.slice(from, to)
  const before = from > 0 && text[from - 1] !== '\n' ? '\n' : ''
  const open = `${before}\`\`\`\n`
  return { from, to, text: `${open}${inner}\n\`\`\`\n`, select: [open.length, open.length + inner.length] }
}

/** Inserts a mark that begins a completion, with a space before it if a word is there. */
export function insertTrigger(text: string, from: number, to: number, mark: '@' | '#'): TextEdit {
  const isAfterWord = from > 0 && /\S/.test(text[from - 1] ?? '')
  return { from, to, text: isAfterWord ? ` ${mark}` : mark }
}

const item = /^(\s*)([-*+]|(\d+)[.)])( \[[ x]\])? /

/** Continues a list on the next line. Enter on an empty item ends the list. Undefined outside a list. */
export function continueList(text: string, caret: number): TextEdit | undefined {
  const start = text.lastIndexOf('\n', caret - 1) + 1
  const line = text.slice(start, caret)
  const found = item.exec(line)
  if (!found) return undefined
  if (found[0].length === line.length) return { from: start, to: caret, text: '' }
  const [, indent = '', mark = '', number, box] = found
  const next = number ? mark.replace(number, String(Number(number) + 1)) : mark
  return { from: caret, to: caret, text: `\n${indent}${next}${box ? ' [ ]' : ''} ` }
}

export interface CompletionRequest {
  kind: 'note' | 'person' | 'task'
  query: string
  /** The position of the mark. */
  from: number
}

/** Returns the text typed after `[[`, `@` or `#`, which can be completed. */
export function completionRequestAt(text: string, caret: number): CompletionRequest | undefined {
  const before = text.slice(Math.max(0, caret - 80), caret)
  const note = /\[\[([^[\]\n]*)$/.exec(before)
  if (note) return { kind: 'note', query: note[1] as string, from: caret - note[0].length }
  const person = /(?:^|[\s(])(@([\p{L}\p{N}_-]*))$/u.exec(before)
  if (person) return { kind: 'person', query: person[2] as string, from: caret - (person[1] as string).length }
  // A space after `#` begins a heading. Titles have spaces, so up to three words are searched for.
  const task = /(?:^|[\s(])(#([\p{L}\p{N}_-]+(?: [\p{L}\p{N}_-]+){0,2}|))$/u.exec(before)
  return task ? { kind: 'task', query: task[2] as string, from: caret - (task[1] as string).length } : undefined
}

/** Applies an edit as if it were typed, so that the browser can undo it. */
export function applyTextEdit(field: HTMLTextAreaElement, { from, to, text, select }: TextEdit): void {
  field.focus()
  field.setSelectionRange(from, to)
  document.execCommand(text === '' ? 'delete' : 'insertText', false, text)
  const [start, end] = select ?? [text.length, text.length]
  field.setSelectionRange(from + start, from + end)
}
