const copied = [
  'boxSizing',
  'fontFamily',
  'fontSize',
  'fontWeight',
  'letterSpacing',
  'lineHeight',
  'paddingBlockStart',
  'paddingInlineEnd',
  'paddingInlineStart',
  'tabSize',
] as const

export interface Placement {
  insetInlineStart: number
  insetBlockStart?: number
  insetBlockEnd?: number
}

/** The size of the list, at most. */
const [WIDTH, HEIGHT, GAP] = [304, 280, 4]

/** Returns the place on screen of a list below a position of the text, or above it where there is no room. */
export function placeBelowCaret(field: HTMLTextAreaElement, position: number): Placement {
  const { left, top, bottom } = caretLine(field, position)
  const insetInlineStart = Math.max(12, Math.min(left, innerWidth - WIDTH - 12))
  return bottom + HEIGHT < innerHeight
    ? { insetInlineStart, insetBlockStart: bottom + GAP }
    : { insetInlineStart, insetBlockEnd: innerHeight - top + GAP }
}

/** Returns where a position of the text is on screen. A browser does not say, so a copy of the text is measured. */
function caretLine(field: HTMLTextAreaElement, position: number): { left: number; top: number; bottom: number } {
  const [copy, mark, look] = [document.createElement('div'), document.createElement('span'), getComputedStyle(field)]
  for (const name of copied) copy.style[name] = look[name]
  const { left, top } = field.getBoundingClientRect()
  Object.assign(copy.style, {
    position: 'fixed',
    insetInlineStart: `${left}px`,
    insetBlockStart: `${top - field.scrollTop}px`,
    visibility: 'hidden',
    whiteSpace: 'pre-wrap',
    overflowWrap: 'break-word',
    inlineSize: look.width,
  })
  copy.textContent = field.value.slice(0, position)
  mark.textContent = '.'
  copy.append(mark)
  field.after(copy)
  const line = mark.getBoundingClientRect()
  copy.remove()
  return line
}
