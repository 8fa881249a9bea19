/**
 * The unsaved text of a note. It is kept in memory until the server has it, so that it survives a visit to another
 * page, a refusal and a lost connection.
 */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { Note, NoteRead } from '../../../features/notes/schema.ts'
import { notes, ok, writeOptions } from '../../api.ts'
import { isProblem } from '../../problem.ts'
import { noteQuery } from './queries.ts'

interface Draft {
  text: string
  /** The note that was changed: another text or version on the server means that someone else wrote too. */
  base: Pick<Note, 'content' | 'version'>
}

const drafts = new Map<string, Draft>()
export const hasDraft = (id: string): boolean => drafts.has(id)

/** Saved after so long without a key. */
const REST = 10_000

export function useDraft(note: NoteRead) {
  const cache = useQueryClient()
  const [draft, setDraft] = useState<Draft>(() => drafts.get(note.id) ?? { text: note.content, base: note })
  const [theirs, setTheirs] = useState<Note>()
  const latest = useRef(draft)
  const keep = useCallback(
    (next: Draft) => {
      latest.current = next
      if (next.text === next.base.content) drafts.delete(note.id)
      else drafts.set(note.id, next)
      setDraft(next)
    },
    [note.id],
  )
  const saving = useMutation({
    // One after the other, each on what the one before made: two quick saves are no conflict.
    scope: { id: `text of ${note.id}` },
    mutationFn: async () => {
      const { text, base } = latest.current
      if (text === base.content) return
      const saved = await saveNoteText(note.id, text, base)
      keep({ text: latest.current.text, base: { content: text, version: saved.version } })
      cache.setQueryData(noteQuery(note.id).queryKey, (now) => now && { ...now, ...saved })
    },
    onError: (error) => {
      const current = isProblem(error) && error.status === 412 ? (error.current as Note | undefined) : undefined
      if (current) setTheirs(current)
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ['notes'] }),
  })
  const { mutate, isPending } = saving
  const isChanged = draft.text !== draft.base.content
  const save = useCallback(() => {
    if (latest.current.text !== latest.current.base.content) mutate()
  }, [mutate])
  useSaveAtRest(draft.text, isChanged && !theirs, save)
  /** Ends a conflict with this text, which replaces theirs when it is saved. */
  const settle = (text: string) => {
    if (theirs) keep({ text, base: theirs })
    if (theirs) cache.setQueryData(noteQuery(note.id).queryKey, (now) => now && { ...now, ...theirs })
    setTheirs(undefined)
    saving.reset()
  }
  return {
    text: draft.text,
    base: draft.base,
    set: (text: string) => keep({ ...latest.current, text }),
    save,
    settle,
    theirs,
    isChanged,
    isSaving: isPending,
    error: theirs ? null : saving.error,
  }
}

/** Saves a text. A change of another field by someone else is no conflict: the text goes onto the newer version. */
async function saveNoteText(id: string, content: string, base: Draft['base']): Promise<Note> {
  const put = (version: number) => ok(notes.notes({ id }).put({ content }, writeOptions(version)))
  try {
    return await put(base.version)
  } catch (error) {
    const current = isProblem(error) && error.status === 412 ? (error.current as Note | undefined) : undefined
    if (!current || current.content !== base.content) throw error
    return put(current.version)
  }
}

function useSaveAtRest(text: string, isDue: boolean, save: () => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: every change of the text begins a new rest
  useEffect(() => {
    if (!isDue) return
    const timer = setTimeout(save, REST)
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => {
      clearTimeout(timer)
      removeEventListener('beforeunload', warn)
    }
  }, [text, isDue, save])
}
