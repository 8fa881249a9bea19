/** A copy button. A page on plain HTTP has no clipboard, so there the text is selected for the user to copy. */
import { Check, Copy } from 'lucide-react'
import { type RefObject, useState } from 'react'

const words = { copy: 'Copy', copied: 'Copied', selected: 'Selected: press Ctrl+C' }

function selectContents(element: HTMLElement | null): void {
  const range = document.createRange()
  if (!element) return
  range.selectNodeContents(element)
  const selection = getSelection()
  selection?.removeAllRanges()
  selection?.addRange(range)
}

/** `source`: the element that shows the text. `name`: what is copied, for those who do not see it. */
export function CopyButton({
  text,
  source,
  name,
}: {
  text: string
  source: RefObject<HTMLElement | null>
  name: string
}) {
  const [state, setState] = useState<keyof typeof words>('copy')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setState('copied')
    } catch {
      selectContents(source.current)
      setState('selected')
    }
  }
  const Icon = state === 'copied' ? Check : Copy
  return (
    <button type="button" className="btn small" aria-label={`${words[state]} ${name}`} onClick={() => void copy()}>
      <Icon className="i s14" aria-hidden />
      {words[state]}
    </button>
  )
}
