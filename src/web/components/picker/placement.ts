/** Where a picker is shown: beside a card, below a row or a button, or as a sheet at the bottom of a phone. */

const GAP = 4
const MARGIN = 8
/** The style sheet has the same width and height. */
const [WIDTH, HEIGHT] = [320, 400]
/** An element that is higher than this is a card. */
const ROW = 56

interface Box {
  top: number
  bottom: number
  left: number
  right: number
}

interface Placement {
  left: number
  /** One of the two is set. */
  top?: number
  bottom?: number
  maxHeight: number
}

export function placePicker(anchor: Box, view: { width: number; height: number }): Placement {
  const isCard = anchor.bottom - anchor.top > ROW
  if (isCard) {
    const top = clamp(anchor.top, MARGIN, view.height - MARGIN - HEIGHT)
    const left = anchor.right + GAP
    if (left + WIDTH <= view.width - MARGIN) return { left, top, maxHeight: HEIGHT }
    if (anchor.left - GAP - WIDTH >= MARGIN) return { left: anchor.left - GAP - WIDTH, top, maxHeight: HEIGHT }
  }
  // In a wide row it begins where the title does, so that the row stays readable.
  const start = anchor.right - anchor.left > 2 * WIDTH ? anchor.left + 56 : anchor.left
  const left = clamp(start, MARGIN, view.width - MARGIN - WIDTH)
  const [below, above] = [view.height - anchor.bottom - GAP - MARGIN, anchor.top - GAP - MARGIN]
  if (below >= Math.min(HEIGHT, above)) return { left, top: anchor.bottom + GAP, maxHeight: Math.min(HEIGHT, below) }
  return { left, bottom: view.height - anchor.top + GAP, maxHeight: Math.min(HEIGHT, above) }
}

const clamp = (n: number, least: number, most: number): number => Math.max(least, Math.min(n, most))
