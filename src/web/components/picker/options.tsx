/** The options of a picker, in their groups. */
import { Check, Minus } from 'lucide-react'
import { Fragment, type ReactNode, useEffect, useRef } from 'react'
import { Kbd } from '../status-bar.tsx'
import { markTyped } from './match.ts'
import { words } from './words.ts'

export interface PickerOption {
  value: string
  label: string
  /** Other words by which it is found. */
  keywords?: string | undefined
  /** The heading above it. */
  group?: string | undefined
  glyph?: ReactNode
  /** Shown at the right. */
  note?: ReactNode
  /** Whether all or some of the records have it. */
  has?: 'all' | 'some' | undefined
  /** Why it cannot be chosen now. */
  refused?: string | undefined
}

interface Props {
  id: string
  label: string
  toggles: boolean
  text: string
  shown: readonly PickerOption[]
  active: PickerOption | undefined
  hasDigits: boolean
  point(value: string): void
  choose(option: PickerOption): void
}

export function OptionList({ id, label, toggles, shown, ...props }: Props) {
  const groups = [...Map.groupBy(shown, ({ group }) => group)]
  return (
    <div className="opts" role="listbox" id={id} aria-label={label} aria-multiselectable={toggles || undefined}>
      {groups.map(([name, options]) => {
        const rows = options.map((option) => (
          <Option
            key={option.value}
            id={`${id}-${shown.indexOf(option)}`}
            place={shown.indexOf(option)}
            option={option}
            {...props}
          />
        ))
        if (name === undefined) return <Fragment key="">{rows}</Fragment>
        return (
          <div key={name} role="group" aria-label={name}>
            <div className="opthead" aria-hidden>
              {name}
            </div>
            {rows}
          </div>
        )
      })}
    </div>
  )
}

interface OptionProps extends Omit<Props, 'label' | 'toggles' | 'shown'> {
  place: number
  option: PickerOption
}

function Option({ id, place, option, text, active, hasDigits, point, choose }: OptionProps) {
  const element = useRef<HTMLDivElement>(null)
  const isActive = option === active
  useEffect(() => {
    if (isActive) element.current?.scrollIntoView({ block: 'nearest' })
  }, [isActive])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and handles the keys
    <div
      ref={element}
      id={id}
      role="option"
      tabIndex={-1}
      className="opt"
      aria-selected={isActive}
      aria-checked={option.has === 'some' ? 'mixed' : option.has === 'all'}
      aria-disabled={option.refused ? true : undefined}
      onPointerMove={() => isActive || point(option.value)}
      // The field keeps the focus.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => choose(option)}
    >
      {option.glyph}
      <span className="cut grow">
        {markTyped(option.label, text).map((part, at) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name
          part.marked ? <mark key={at}>{part.text}</mark> : <Fragment key={at}>{part.text}</Fragment>,
        )}
      </span>
      {option.refused ? <span className="t12 soft cut why">{option.refused}</span> : option.note}
      {option.has === 'all' && <Check className="i s14" aria-hidden />}
      {option.has === 'some' && <Minus className="i s14" aria-label={words.some} role="img" />}
      {hasDigits && place < 9 && <Kbd>{place + 1}</Kbd>}
    </div>
  )
}
