/** Search, jump and act from anywhere: ⌘K. */
import { Autocomplete } from '@base-ui/react/autocomplete'
import { Dialog } from '@base-ui/react/dialog'
import { useNavigate } from '@tanstack/react-router'
import { Search, X } from 'lucide-react'
import { type KeyboardEvent, useRef, useState } from 'react'
import { parseSearchQuery, type QueryFilter, withoutFilter } from '../../../records/query-filters.ts'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { Kbd } from '../../components/status-bar.tsx'
import { keyLabels } from '../../shortcuts.ts'
import { words } from '../../words.ts'
import { usePaletteContent } from './palette-items.ts'
import type { PaletteGroup, PaletteItem } from './palette-results.ts'
import { QueryChips } from './query-chips.tsx'

export function Palette({ onClose }: { onClose(): void }) {
  const [typed, setTyped] = useState('')
  const [apart, setApart] = useState(false)
  const { groups, filters, selection } = usePaletteContent(typed, { apart })
  const input = useRef<HTMLInputElement>(null)
  const searched = parseSearchQuery(typed).words.trim()
  const navigate = useNavigate()
  const highlighted = useRef<PaletteItem>(undefined)
  const choose = ({ to, run }: PaletteItem) => {
    onClose()
    if (to) void navigate({ to: to.split('?')[0] as string, search: searchOf(to), hash: '' })
    // Wait until this dialog has returned the focus, so that the command can move it.
    else if (run) setTimeout(run)
  }
  const inNewTab = (event: KeyboardEvent) => {
    const to = highlighted.current?.to
    if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey) || !to) return
    event.preventDefault()
    event.stopPropagation()
    window.open(to, '_blank', 'noopener')
  }
  const leaveApart = () => {
    setApart(true)
    input.current?.focus()
  }
  const removeFilter = (filter: QueryFilter) => {
    setTyped(withoutFilter(typed, filter))
    input.current?.focus()
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="veil" />
        <Dialog.Popup className="palette" aria-label={words.palette.title}>
          <Autocomplete.Root
            open
            inline
            mode="none"
            items={groups}
            value={typed}
            onValueChange={(value, { reason }) => reason !== 'item-press' && setTyped(value)}
            itemToStringValue={({ label }: PaletteItem) => label}
            onItemHighlighted={(item) => {
              highlighted.current = item as PaletteItem | undefined
            }}
            autoHighlight="always"
            keepHighlight
          >
            <div className="ask">
              <Search className="i soft" aria-hidden />
              <Autocomplete.Input
                className="grow"
                aria-label={words.palette.title}
                placeholder={words.find}
                onKeyDownCapture={inNewTab}
                ref={input}
              />
              {selection && !apart && <SelectionChip selection={selection} onRemove={leaveApart} />}
            </div>
            <QueryChips filters={filters} onRemove={removeFilter} />
            <Options groups={groups} typed={searched} onChoose={choose} />
          </Autocomplete.Root>
          <Hints />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** What the first commands act on; the button leaves the selection alone. */
const SelectionChip = ({ selection, onRemove }: { selection: string; onRemove(): void }) => (
  <button type="button" className="chip" aria-label={words.palette.notOn(selection)} onClick={onRemove}>
    {words.palette.actingOn} <b>{selection}</b>
    <X className="i s12" aria-hidden />
  </button>
)

interface OptionsProps {
  groups: readonly PaletteGroup[]
  typed: string
  onChoose(item: PaletteItem): void
}

const Options = ({ groups, typed, onChoose }: OptionsProps) => (
  <>
    <Autocomplete.Empty className="nothing soft">
      {groups.length === 0 ? words.palette.nothing : null}
    </Autocomplete.Empty>
    <Autocomplete.List className="opts">
      {(group: PaletteGroup) => (
        <Autocomplete.Group key={group.value} items={group.items}>
          <Autocomplete.GroupLabel className="opthead">{group.value}</Autocomplete.GroupLabel>
          <Autocomplete.Collection>
            {(item: PaletteItem) => <Option key={item.id} item={item} typed={typed} onChoose={onChoose} />}
          </Autocomplete.Collection>
        </Autocomplete.Group>
      )}
    </Autocomplete.List>
  </>
)

const searchOf = (to: string): Record<string, string> => Object.fromEntries(new URLSearchParams(to.split('?')[1]))

function ItemIcon({ item: { icon: Icon, color } }: { item: PaletteItem }) {
  return color ? <span className={`pdot ${color}`} /> : <Icon className="i" aria-hidden />
}

function Option({ item, typed, onChoose }: { item: PaletteItem; typed: string; onChoose(item: PaletteItem): void }) {
  return (
    <Autocomplete.Item className="opt" value={item} onClick={() => onChoose(item)}>
      {item.status ? <StatusGlyph status={item.status} /> : <ItemIcon item={item} />}
      <span className="cut grow">
        {item.key && <span className="soft">{item.key} </span>}
        <Marked text={item.label} part={typed} />
        {item.detail && (
          <span className="soft">
            {' '}
            <Marked text={item.detail} part={typed} />
          </span>
        )}
      </span>
      <span className="t12 soft row tight">
        {item.note}
        {item.keys && keyLabels(item.keys).map((cap) => <Kbd key={cap}>{cap}</Kbd>)}
      </span>
    </Autocomplete.Item>
  )
}

/** The text, with what was typed marked in it. */
function Marked({ text, part }: { text: string; part: string }) {
  const at = part ? text.toLowerCase().indexOf(part.toLowerCase()) : -1
  if (at < 0) return text
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + part.length)}</mark>
      {text.slice(at + part.length)}
    </>
  )
}

const Hints = () => (
  <div className="pfoot">
    <span className="row">
      <Kbd>↑</Kbd>
      <Kbd>↓</Kbd> {words.palette.hints.move}
    </span>
    <span className="row">
      <Kbd>↵</Kbd> {words.palette.hints.open}
    </span>
    <span className="row">
      {keyLabels('$mod+Enter').map((cap) => (
        <Kbd key={cap}>{cap}</Kbd>
      ))}{' '}
      {words.palette.hints.tab}
    </span>
    <span className="row end">
      <Kbd>Esc</Kbd> {words.palette.hints.close}
    </span>
  </div>
)
