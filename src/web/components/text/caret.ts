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

export interface CaretPlace {
  /** Pixels from the left and the top of the field to the start of the line below the caret. */
  left: number
  top: number
}

/** Returns where a position of the text is on screen. A browser does not say, so a copy of the text is measured. */
export function caretPlace(field: HTMLTextAreaElement, position: number): CaretPlace {
  const [copy, mark, look] = [document.createElement('div'), document.createElement('span'), getComputedStyle(field)]
  for (const name of copied) copy.style[name] = look[name]
  Object.assign(copy.style, {
    position: 'absolute',
    visibility: 'hidden',
    whiteSpace: 'pre-wrap',
    overflowWrap: 'break-word',
    inlineSize: `${field.clientWidth}px`,
  })
  copy.textContent = field.value.slice(0, position)
  mark.textContent = '.'
  copy.append(mark)
  field.after(copy)
  const place = { left: mark.offsetLeft, top: mark.offsetTop + mark.offsetHeight }
  copy.remove()
  return { left: field.offsetLeft + place.left, top: field.offsetTop + place.top - field.scrollTop }
}
