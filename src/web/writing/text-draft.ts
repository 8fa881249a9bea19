/** The text of a record while it is written: its draft on this device, how it is saved, and edit conflicts. */
import { useMutation } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { useCallback, useEffect, useRef, useState } from 'react'
import { mergeLines } from '../components/text/merge.ts'
import { toast } from '../components/toasts.tsx'
import { isProblem } from '../problem.ts'
import { readDraft, removeOldDrafts, writeDraft } from './device-drafts.ts'
import { words } from './words.ts'

/** The text that was changed: another text on the server means that someone else wrote too. */
interface SavedText {
  text: string
  version: number
}

interface Draft {
  text: string
  base: SavedText
}

/** Both texts of an edit conflict that could not be merged. */
class TextConflictError extends Error {
  constructor(readonly theirs: SavedText) {
    super(words.conflict)
  }
}

interface Options {
  /** The kind and id of the record, such as `note 5f0c…`. */
  name: string
  /** The text that the record has now. */
  saved: SavedText
  /** Saves a text onto a version, and returns the next version. Throws a Problem with 412 for another version. */
  save(text: string, version: number): Promise<number>
  /** Returns the text that the record has after a 412. */
  readCurrent(): Promise<SavedText>
  /** Called with each text that the server has. */
  onSaved?(saved: SavedText): void
  /** Saves by itself after a rest. Otherwise only when it is asked to. */
  savesAtRest?: boolean
}

export const useUserId = (): string => useRouteContext({ from: '/inside' }).me.id

export const hasTextDraft = (userId: string, name: string): boolean => readDraft<Draft>(userId, name) !== undefined

/** The draft as it is stored on this device. `latest` is also right between two renderings. */
function useStoredDraft({ name, saved }: Pick<Options, 'name' | 'saved'>) {
  const userId = useUserId()
  const [draft, setDraft] = useState<Draft>(() => readDraft(userId, name) ?? { text: saved.text, base: saved })
  const latest = useRef(draft)
  const keep = useCallback(
    (next: Draft) => {
      latest.current = next
      writeDraft(userId, name, next.text === next.base.text ? undefined : next)
      setDraft(next)
    },
    [userId, name],
  )
  useEffect(removeOldDrafts, [])
  return { draft, latest, keep }
}

export function useTextDraft(options: Options) {
  const { name, saved, savesAtRest = false } = options
  const { draft, latest, keep } = useStoredDraft(options)
  const [theirs, setTheirs] = useState<SavedText>()
  const saving = useMutation({
    // Saves run one after the other, each based on the one before, so two quick saves do not conflict.
    scope: { id: `text of ${name}` },
    mutationFn: async () => {
      const { text, base } = latest.current
      if (text === base.text) return
      const next = await saveMerged(text, base, options)
      // What was typed meanwhile stays, and is saved next.
      keep({ text: latest.current.text === text ? next.text : latest.current.text, base: next })
      options.onSaved?.(next)
    },
    onError: (error) => {
      if (error instanceof TextConflictError) setTheirs(error.theirs)
    },
  })
  const { mutate } = saving
  const isChanged = draft.text !== draft.base.text
  const save = useCallback(
    (then?: () => void) => {
      if (latest.current.text === latest.current.base.text) then?.()
      else mutate(undefined, then && { onSuccess: then })
    },
    [mutate, latest],
  )
  useSaveAtRest(draft.text, isChanged && !theirs && savesAtRest, save)
  /** Ends a conflict with this text, which replaces theirs when it is saved. */
  const settle = (text: string) => {
    if (!theirs) return
    keep({ text, base: theirs })
    options.onSaved?.(theirs)
    setTheirs(undefined)
    saving.reset()
  }
  return {
    ...draft,
    set: (text: string) => keep({ ...latest.current, text }),
    discard: () => keep({ text: saved.text, base: saved }),
    save,
    settle,
    theirs,
    isChanged,
    isSaving: saving.isPending,
    error: theirs ? null : saving.error,
  }
}

export type TextDraft = ReturnType<typeof useTextDraft>

/**
 * Saves a text. A change of another field by someone else is no conflict, and their changes of other lines are merged.
 */
async function saveMerged(text: string, base: SavedText, { save, readCurrent }: Options): Promise<SavedText> {
  try {
    return { text, version: await save(text, base.version) }
  } catch (error) {
    if (!isProblem(error) || error.status !== 412) throw error
    const current = await readCurrent()
    const merged = current.text === base.text ? text : mergeLines(base.text, text, current.text)
    if (merged === undefined) throw new TextConflictError(current)
    const version = await save(merged, current.version)
    if (merged !== text) toast({ title: words.merged })
    return { text: merged, version }
  }
}

/** Milliseconds without a key. */
const REST = 10_000

function useSaveAtRest(text: string, isDue: boolean, save: () => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: every change of the text begins a new rest
  useEffect(() => {
    if (!isDue) return
    const timer = setTimeout(() => save(), REST)
    return () => clearTimeout(timer)
  }, [text, isDue, save])
}

/** A text that is sent as a whole and then empty, such as a comment. Undefined: it has no draft. */
export function useSentDraft(name: string | undefined): [text: string, setText: (text: string) => void] {
  const userId = useUserId()
  const [text, setText] = useState(() => (name && readDraft<string>(userId, name)) || '')
  const set = useCallback(
    (next: string) => {
      if (name) writeDraft(userId, name, next === '' ? undefined : next)
      setText(next)
    },
    [userId, name],
  )
  return [text, set]
}
