/** One field that finds values of all kinds for a filter. `!` at the start means "is not". */
import { Popover } from '@base-ui/react/popover'
import { Calendar, Circle, CircleUserRound, FolderKanban, History, Search, Signpost } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, type RefObject, useId, useRef, useState } from 'react'
import type { Priority, Status } from '../../../../records/task-states.ts'
import { PriorityGlyph, StatusGlyph } from '../../../components/glyphs.tsx'
import { Kbd } from '../../../components/status-bar.tsx'
import { keyLabels } from '../../../shortcuts.ts'
import { LabelTag } from '../card.tsx'
import type { FilterName } from '../search.ts'
import { words } from '../words.ts'
import { type FilterEntry, matchEntries } from './filter-entries.ts'

interface Props {
  anchor: RefObject<HTMLElement | null>
  entries: readonly FilterEntry[]
  onAdd(entry: FilterEntry, isNot: boolean): void
  onClose(): void
}

export default function FilterPicker({ anchor, entries, onAdd, onClose }: Props) {
  const field = useRef<HTMLInputElement>(null)
  return (
    <Popover.Root open onOpenChange={(open) => !open && onClose()}>
      <Popover.Portal>
        <Popover.Positioner anchor={anchor} sideOffset={6} align="start" className="over">
          <Popover.Popup className="filterpick" aria-label={words.filter} initialFocus={field} finalFocus={anchor}>
            <Choices field={field} entries={entries} onAdd={onAdd} onClose={onClose} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

interface ChoicesProps extends Omit<Props, 'anchor'> {
  field: RefObject<HTMLInputElement | null>
}

function Choices({ field, entries, onAdd, onClose }: ChoicesProps) {
  const id = useId()
  const [text, setText] = useState('')
  const [isToggled, setToggled] = useState(false)
  const [at, setAt] = useState(0)
  const isNot = isToggled || text.startsWith('!')
  const found = matchEntries(entries, text.replace(/^!/, ''), isNot)
  const place = Math.min(at, found.length - 1)
  const write = (next: string) => {
    setText(next)
    setAt(0)
  }
  const setNot = (next: boolean) => {
    setToggled(next)
    write(text.replace(/^!/, ''))
  }
  const choose = (entry: FilterEntry | undefined, stays: boolean) => {
    if (!entry) return
    onAdd(entry, isNot)
    if (!stays) return onClose()
    write('')
    field.current?.focus()
  }
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }
  const press = (event: KeyboardEvent) => {
    const step = steps[event.key]
    if (step) setAt((place + step + found.length) % Math.max(1, found.length))
    else if (event.key === 'Enter') choose(found[place], event.metaKey || event.ctrlKey)
    else if (event.key === 'Tab' && !event.shiftKey) setNot(!isNot)
    else return
    event.preventDefault()
  }
  return (
    <>
      <div className="ask">
        <input
          ref={field}
          className="grow"
          role="combobox"
          aria-label={words.findFilter}
          aria-expanded
          aria-controls={`${id}-list`}
          aria-activedescendant={found[place] && `${id}-${place}`}
          aria-autocomplete="list"
          autoComplete="off"
          placeholder={words.findFilter}
          value={text}
          onChange={(event) => write(event.currentTarget.value)}
          onKeyDown={press}
        />
        <IsOrNot isNot={isNot} onChange={setNot} />
      </div>
      <List id={id} found={found} place={place} onChoose={(entry) => choose(entry, false)} />
      {foot}
    </>
  )
}

const foot = (
  <footer className="pfoot" aria-hidden>
    <span className="row">
      <Kbd>↵</Kbd> {words.keys.foot.add}
    </span>
    <span className="row">
      <Kbd>Tab</Kbd> {words.is(true)}
    </span>
    <span className="row">
      {keyLabels('$mod+Enter').map((key) => (
        <Kbd key={key}>{key}</Kbd>
      ))}
      {words.keys.foot.addAndStay}
    </span>
  </footer>
)

/** Chooses between "is" and "is not"; by keyboard, Tab in the field does. */
const IsOrNot = ({ isNot, onChange }: { isNot: boolean; onChange(isNot: boolean): void }) => (
  <div className="seg" role="group" aria-label={words.isOrNot}>
    {[false, true].map((not) => (
      <button key={String(not)} type="button" tabIndex={-1} aria-pressed={isNot === not} onClick={() => onChange(not)}>
        {words.is(not)}
      </button>
    ))}
  </div>
)

interface ListProps {
  id: string
  found: readonly FilterEntry[]
  place: number
  onChoose(entry: FilterEntry): void
}

function List({ id, found, place, onChoose }: ListProps) {
  const kinds = [...new Set(found.map(({ name }) => kindOf(name)))]
  return (
    <div className="opts" role="listbox" id={`${id}-list`} aria-label={words.filter}>
      {kinds.map((kind) => (
        <div key={kind} role="group" aria-label={kind}>
          <div className="opthead" aria-hidden>
            {kind}
          </div>
          {found.map((entry, index) =>
            kindOf(entry.name) === kind ? (
              // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: see the field.
              <div
                key={`${entry.name} ${entry.value}`}
                id={`${id}-${index}`}
                ref={index === place ? scrollIntoView : undefined}
                role="option"
                aria-selected={index === place}
                className="opt"
                onClick={() => onChoose(entry)}
              >
                <Glyph entry={entry} />
                <span className="grow cut">{entry.label}</span>
                {entry.n !== undefined && <span className="t12 soft">{entry.n}</span>}
              </div>
            ) : null,
          )}
        </div>
      ))}
      {found.length === 0 && <p className="soft opthead">{words.noFilter}</p>}
    </div>
  )
}

const scrollIntoView = (element: HTMLElement | null) => element?.scrollIntoView({ block: 'nearest' })

const kindOf = (name: FilterName): string => words.filterKinds[name]

const icons: Partial<Record<FilterName, typeof Circle>> = {
  assignee: CircleUserRound,
  holder: CircleUserRound,
  leased: Circle,
  epic: Signpost,
  project: FolderKanban,
  dueBefore: Calendar,
  updatedAfter: History,
  q: Search,
}

function Glyph({ entry: { name, value } }: { entry: FilterEntry }): ReactNode {
  if (name === 'status') return <StatusGlyph status={value as Status} />
  if (name === 'priority') return <PriorityGlyph priority={value as Priority} />
  if (name === 'label') return <LabelTag name={value} bare />
  const Icon = icons[name] ?? Circle
  return <Icon className="i s14" aria-hidden />
}
