/** Completions at the caret of the editor: notes after `[[`, people and agents after `@`, tasks after `#`. */
import { type KeyboardEvent, type ReactNode, type RefObject, useId, useRef, useState } from 'react'
import { type Placement, placeBelowCaret } from './caret.ts'
import { applyTextEdit, type CompletionRequest, completionRequestAt } from './text-edits.ts'

interface CompletionOption {
  /** Replaces the mark and the text typed after it. */
  insert: string
  label: string
  hint?: string
  glyph?: ReactNode
}

export type { CompletionOption }
export type CompletionSources = Readonly<
  Record<CompletionRequest['kind'], (query: string) => Promise<readonly CompletionOption[]>>
>

interface Offer {
  asked: CompletionRequest
  options: readonly CompletionOption[]
  active: number
  place: Placement
}

const label = 'Suggestions'

export function useCompletion(field: RefObject<HTMLTextAreaElement | null>, complete: CompletionSources | undefined) {
  const [offer, setOffer] = useState<Offer>()
  const list = useId()
  /** Counts the requests, so that a late response to an earlier one is dropped. */
  const turn = useRef(0)
  const look = () => {
    const mine = ++turn.current
    // The caret is read after the browser has moved it.
    requestAnimationFrame(async () => {
      const text = field.current
      const asked = text && complete && completionRequestAt(text.value, text.selectionStart)
      const options = asked ? await complete[asked.kind](asked.query).catch(() => []) : []
      if (mine !== turn.current) return
      const place = text && asked && placeBelowCaret(text, asked.from)
      setOffer(place && options.length > 0 ? { asked, options, active: 0, place } : undefined)
    })
  }
  const choose = (option: CompletionOption) => {
    const text = field.current
    if (text && offer) applyTextEdit(text, { from: offer.asked.from, to: text.selectionStart, text: option.insert })
    turn.current++
    setOffer(undefined)
  }
  /** Returns whether the key was meant for the suggestions. */
  const onKeyDown = (event: KeyboardEvent): boolean => {
    const option = offer?.options[offer.active]
    if (!offer || !option) return false
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const count = offer.options.length
    if (step) setOffer({ ...offer, active: (offer.active + step + count) % count })
    else if (event.key === 'Enter' || event.key === 'Tab') choose(option)
    else if (event.key === 'Escape') setOffer(undefined)
    else return false
    event.preventDefault()
    event.stopPropagation()
    return true
  }
  const attributes = offer && {
    'aria-autocomplete': 'list' as const,
    'aria-controls': list,
    'aria-activedescendant': `${list}-${offer.active}`,
  }
  return { offer, list, look, choose, onKeyDown, attributes }
}

type Completion = ReturnType<typeof useCompletion>

export const Completions = ({ offer, list, choose }: Pick<Completion, 'offer' | 'list' | 'choose'>) =>
  offer ? (
    <div className="menu edmenu" role="listbox" id={list} aria-label={label} style={offer.place}>
      {offer.options.map((option, place) => (
        <div
          key={option.insert}
          id={`${list}-${place}`}
          role="option"
          tabIndex={-1}
          aria-selected={place === offer.active}
          className="opt"
          data-highlighted={place === offer.active || undefined}
          // Before the field loses the focus.
          onMouseDown={(event) => {
            event.preventDefault()
            choose(option)
          }}
        >
          {option.glyph}
          <span className="grow cut">{option.label}</span>
          {option.hint && <span className="soft t12 cut">{option.hint}</span>}
        </div>
      ))}
    </div>
  ) : null
