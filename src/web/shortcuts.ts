/**
 * The registry of commands, which run by keyboard shortcut or from the palette. A shortcut of a list shadows the same
 * one of the panel beside it, one of the page shadows both, and a global one shadows all. The `?` dialog lists the
 * commands that are active.
 */
import { useEffect, useRef } from 'react'
import { type KeybindingPress, matchKeybindingPress, parseKeybinding } from 'tinykeys'
import { createStore } from './lib/store.ts'

type Scope = 'global' | 'list' | 'page' | 'panel' | 'selection'

export interface Command {
  /** As tinykeys writes them: `c`, `g i`, `$mod+k`, `[Shift]+?`. Without keys the command is in the palette only. */
  keys?: string
  /** Shown in the `?` dialog and in the palette. A command without a label is in neither. */
  label?: string
  /** Default: page. */
  scope?: Scope
  /** The record that it acts on, such as the key of the selected task. */
  on?: string
  /** Also works while the user types in a field. */
  whileTyping?: boolean
  /** Not in the palette: moving a selection makes no sense there. */
  keysOnly?: boolean
  /** Whether it has something to act on now. If not, the same keys of a lower scope work. */
  applies?(): boolean
  run(): void
}

const registeredCommands = createStore<readonly Command[]>([])
/** Whether keys without a modifier work. The preference `shortcuts` decides. */
const shortcutsEnabled = createStore(true)

export const setShortcutsEnabled = shortcutsEnabled.set
export const useShortcutsEnabled = shortcutsEnabled.use

/** Registers commands until the function that it returns is called. */
function registerCommands(commands: readonly Command[]): () => void {
  registeredCommands.set([...registeredCommands.get(), ...commands])
  return () => registeredCommands.set(registeredCommands.get().filter((command) => !commands.includes(command)))
}

const rank: Record<Scope, number> = { panel: 0, list: 1, selection: 2, page: 3, global: 4 }
const rankOf = ({ scope = 'page' }: Command): number => rank[scope]

/** Returns the active commands. Of several with the same keys, the highest scope wins, then the newest. */
function activeCommands(all: readonly Command[] = registeredCommands.get(), on = shortcutsEnabled.get()): Command[] {
  const byKeys = new Map<string, Command>()
  for (const command of all) {
    if (!command.keys || (!on && isPlain(command.keys))) continue
    const known = byKeys.get(command.keys)
    if (!known || rankOf(command) >= rankOf(known)) byKeys.set(command.keys, command)
  }
  return all.filter((command) => !command.keys || byKeys.get(command.keys) === command)
}

/** Follows the commands that work now. */
export function useActiveCommands(): Command[] {
  const all = registeredCommands.use()
  return activeCommands(all, shortcutsEnabled.use())
}

/** Whether these are characters without a modifier, which get in the way of speech input. */
const isPlain = (keys: string): boolean =>
  parseKeybinding(keys).every(([required, , key]) => !required.length && isCharacter(key))
const isCharacter = (key: string | RegExp): boolean => typeof key === 'string' && [...key].length === 1

/** Registers one command while the component is mounted. */
export const useKey = (keys: string, run: () => void, more: Omit<Command, 'keys' | 'run'> = {}): void =>
  useCommands([{ ...more, keys, run }])

/** Registers commands while the component is mounted. They may be new objects on every render. */
export function useCommands(commands: readonly Command[]): void {
  const latest = useRef(commands)
  latest.current = commands
  const shape = JSON.stringify(commands)
  useEffect(() => {
    const shapes = JSON.parse(shape) as Omit<Command, 'run'>[]
    return registerCommands(
      shapes.map((command, place) => ({
        ...command,
        applies: () => latest.current[place]?.applies?.() ?? true,
        run: () => latest.current[place]?.run(),
      })),
    )
  }, [shape])
}

// ---- what a key press does

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
const inOverlay = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest('[role=dialog],[role=alertdialog],[role=menu],[role=listbox]') !== null
/** Enter and Space press the button that has the focus; Enter follows a link. */
const isPressing = ({ key, target, ctrlKey, metaKey }: KeyboardEvent): boolean =>
  (key === 'Enter' || key === ' ') &&
  !ctrlKey &&
  !metaKey &&
  target instanceof HTMLElement &&
  (/^(BUTTON|SUMMARY)$/.test(target.tagName) || (key === 'Enter' && target.tagName === 'A'))

const modifiers = new Set(['Shift', 'Control', 'Alt', 'Meta', 'AltGraph'])
/** Time for the second key of `g i`. */
const PATIENCE = 1500

interface Possible {
  command: Command
  presses: readonly KeybindingPress[]
}
let pendingSequence: { possible: Possible[]; until: number } | undefined

const firstPressOf = (command: Command): Possible => ({ command, presses: parseKeybinding(command.keys ?? '') })

/** Returns the commands that have something to act on. While the user types, no command with such a condition works. */
const applicableCommands = (target: EventTarget | null): readonly Command[] =>
  isTyping(target) ? registeredCommands.get() : registeredCommands.get().filter(({ applies }) => applies?.() ?? true)

/** Sends the form of a textarea on ⌘↵. Returns whether the key was ⌘↵. */
function submitFormOf({ key, ctrlKey, metaKey, target }: KeyboardEvent): boolean {
  if (key !== 'Enter' || !(ctrlKey || metaKey) || !(target instanceof HTMLTextAreaElement) || !target.form) return false
  const button = target.form.querySelector<HTMLButtonElement>('[type=submit]')
  if (!button?.disabled) target.form.requestSubmit()
  return true
}

/** Runs the command of a key press, or waits for the next key of a sequence such as `g i`. */
function handleKeyPress(event: KeyboardEvent): void {
  if (event.isComposing || event.defaultPrevented || modifiers.has(event.key) || isPressing(event)) return
  if (submitFormOf(event)) {
    event.preventDefault()
    return
  }
  const goesOn = pendingSequence && event.timeStamp <= pendingSequence.until
  const possible = goesOn
    ? (pendingSequence?.possible ?? [])
    : activeCommands(applicableCommands(event.target))
        .filter(({ keys }) => keys)
        .map(firstPressOf)
  pendingSequence = undefined
  const mayWork = ({ whileTyping }: Command) => !inOverlay(event.target) && (whileTyping || !isTyping(event.target))
  const matching = possible.filter(
    ({ command, presses: [first] }) => first && mayWork(command) && matchKeybindingPress(event, first),
  )
  if (matching.length === 0) return
  event.preventDefault()
  const done = matching.find(({ presses }) => presses.length === 1)
  if (done) done.command.run()
  else
    pendingSequence = {
      possible: matching.map(({ command, presses }) => ({ command, presses: presses.slice(1) })),
      until: event.timeStamp + PATIENCE,
    }
}

/** Listens to the keyboard until the function that it returns is called. */
export function listenForKeys(): () => void {
  window.addEventListener('keydown', handleKeyPress)
  return () => window.removeEventListener('keydown', handleKeyPress)
}

const isMac = typeof navigator !== 'undefined' && /Mac|iP(hone|ad)/.test(navigator.platform)
const names: Record<string, string> = {
  $mod: isMac ? '⌘' : 'Ctrl',
  Shift: '⇧',
  Alt: isMac ? '⌥' : 'Alt',
  Escape: 'Esc',
  Enter: '↵',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
}

/** Returns the keys as a screen reader should read them: "Control Z". */
export const spokenKeys = (keys: string): string =>
  keys
    .split('+')
    .map((key) => (key === '$mod' ? (isMac ? 'Command' : 'Control') : key.length === 1 ? key.toUpperCase() : key))
    .join(' ')

/** Returns the labels of the keys, one entry for each: `$mod+k` is ⌘ and K on a Mac. */
export const keyLabels = (keys: string): string[] =>
  keys
    .split(/[ +]/)
    .filter((part) => !part.startsWith('['))
    .map((part) => part.replace(/^Key/, ''))
    .map((part) => names[part] ?? (part.length === 1 && keys.includes('+') ? part.toUpperCase() : part))
