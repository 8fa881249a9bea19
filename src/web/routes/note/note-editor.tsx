import { useQueryClient } from '@tanstack/react-query'
import type { NoteRead } from '../../../features/notes/schema.ts'
import { notes, ok, writeOptions } from '../../api.ts'
import { Kbd, KeyHint, useStatusBarLeft } from '../../components/status-bar.tsx'
import { DraftEditor } from '../../writing/draft-editor.tsx'
import { type TextDraft, useTextDraft } from '../../writing/text-draft.ts'
import { noteQuery } from './queries.ts'
import { words } from './words.ts'

interface Props {
  note: NoteRead
  titles: ReadonlyMap<string, string>
  onDone(): void
}

const keys = (
  <>
    <KeyHint keys="$mod+s" text={words.save} />
    <span className="row">
      <Kbd>[[</Kbd>
      {words.keys.note}
    </span>
    <KeyHint keys="@" text={words.keys.person} />
    <KeyHint keys="#" text={words.keys.task} />
  </>
)

/** The name of the draft of a note's text. */
export const noteDraftName = (id: string): string => `note ${id}`

function useNoteDraft(note: NoteRead): TextDraft {
  const cache = useQueryClient()
  const { queryKey } = noteQuery(note.id)
  const one = notes.notes({ id: note.id })
  return useTextDraft({
    name: noteDraftName(note.id),
    saved: { text: note.content, version: note.version },
    savesAtRest: true,
    save: async (content, version) => {
      const saved = await ok(one.put({ content }, writeOptions(version)))
      void cache.invalidateQueries({ queryKey: ['notes'] })
      return saved.version
    },
    readCurrent: async () => {
      const { content: text, version } = await ok(one.get())
      return { text, version }
    },
    onSaved: ({ text, version }) => {
      cache.setQueryData(queryKey, (now) => now && { ...now, content: text, version })
      // Its links and dates.
      void cache.invalidateQueries({ queryKey: ['note', note.id] })
    },
  })
}

/** Saved by key, when the field is left and after a rest. The text stays until the server has it. */
export function NoteEditor({ note, titles, onDone }: Props) {
  const draft = useNoteDraft(note)
  useStatusBarLeft(keys)
  const leave = () => {
    draft.save()
    onDone()
  }
  return (
    <DraftEditor
      draft={draft}
      holder={{ kind: 'note', id: note.id }}
      label={words.text}
      maxLength={262_144}
      state={saveStateText(draft)}
      onSave={() => draft.save()}
      onLeave={() => draft.save()}
      titles={titles}
    >
      <button type="button" className="btn small" onClick={leave}>
        {words.done}
      </button>
    </DraftEditor>
  )
}

function saveStateText({ isSaving, isChanged, error }: TextDraft): string {
  if (isSaving) return words.saving
  if (error) return words.notSaved
  return isChanged ? words.unsaved : words.saved
}
