/** Changes of a text in a field, as keys and buttons of the editor make them. */

/** Replaces what is between two places, then selects a part of what was put there. */
export interface Edit {
  from: number
  to: number
  text: string
  /** Counted from `from`. Default: the end of the text. */
  select?: readonly [number, number]
}

/** Puts marks around a selection, or removes them if they are there. */
export function marked(text: string, from: number, to: number, mark: string): Edit {
  const inner = text.slice(from, to)
  const isMarked = text.slice(from - mark.length, from) === mark && text.slice(to, to + mark.length) === mark
  return isMarked
    ? { from: from - mark.length, to: to + mark.length, text: inner, select: [0, inner.length] }
    : { from, to, text: mark + inner + mark, select: [mark.length, mark.length + inner.length] }
}

/** Makes a link of a selection. A selected address becomes the target, other text the label; the rest is selected. */
export function linked(text: string, from: number, to: number): Edit {
  const inner = text.slice(from, to)
  if (/^https?:\/\/\S+$/.test(inner)) return { from, to, text: `[](${inner})`, select: [1, 1] }
  return { from, to, text: `[${inner}](https://)`, select: [inner.length + 3, inner.length + 11] }
}

/** Begins every selected line with a mark of a list, or removes it where all have it. */
export function listed(text: string, from: number, to: number): Edit {
  const start = text.lastIndexOf('\n', from - 1) + 1
  const next = text.indexOf('\n', to)
  const end = next === -1 ? text.length : next
  const lines = text.slice(start, end).split('\n')
  const isListed = lines.every((line) => /^\s*- /.test(line))
  const changed = lines.map((line) => (isListed ? line.replace(/^(\s*)- /, '$1') : `- ${line}`)).join('\n')
  return { from: start, to: end, text: changed }
}

const item = /^(\s*)([-*+]|(\d+)[.)])( \[[ x]\])? /

/** Continues a list on the next line. Enter on an empty item ends the list. Undefined outside a list. */
export function continued(text: string, caret: number): Edit | undefined {
  const start = text.lastIndexOf('\n', caret - 1) + 1
  const line = text.slice(start, caret)
  const found = item.exec(line)
  if (!found) return undefined
  if (found[0].length === line.length) return { from: start, to: caret, text: '' }
  const [, indent = '', mark = '', number, box] = found
  const next = number ? mark.replace(number, String(Number(number) + 1)) : mark
  return { from: caret, to: caret, text: `\n${indent}${next}${box ? ' [ ]' : ''} ` }
}

export interface Asked {
  kind: 'note' | 'person'
  query: string
  /** Where the mark that asks begins. */
  from: number
}

/** Returns what is being typed behind `[[` or `@`, which can be completed. */
export function askedAt(text: string, caret: number): Asked | undefined {
  const before = text.slice(Math.max(0, caret - 80), caret)
  const note = /\[\[([^[\]\n]*)$/.exec(before)
  if (note) return { kind: 'note', query: note[1] as string, from: caret - note[0].length }
  const person = /(?:^|[\s(])(@([\p{L}\p{N}_-]*))$/u.exec(before)
  return person ? { kind: 'person', query: person[2] as string, from: caret - (person[1] as string).length } : undefined
}

/** Does an edit as if it had been typed, so that the browser's undo takes it back. */
export function apply(field: HTMLTextAreaElement, { from, to, text, select }: Edit): void {
  field.focus()
  field.setSelectionRange(from, to)
  document.execCommand(text === '' ? 'delete' : 'insertText', false, text)
  const [start, end] = select ?? [text.length, text.length]
  field.setSelectionRange(from + start, from + end)
}
