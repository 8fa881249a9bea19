import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { NoteRead } from '../../../features/notes/schema.ts'
import { membersQuery } from '../../account/session.ts'
import { ProblemBox } from '../../components/states.tsx'
import { useStatusBarLeft } from '../../components/status-bar.tsx'
import { Editor, EditorKeys } from '../../components/text/editor.tsx'
import { NoteConflict } from './conflict.tsx'
import { useDraft } from './draft.ts'
import { suggestNotes, useAttachFile } from './queries.ts'
import { words } from './words.ts'

interface Props {
  note: NoteRead
  titles: ReadonlyMap<string, string>
  onDone(): void
}

const keys = <EditorKeys save={words.save} />

/** Saved by key, when the field is left and after a rest. The text stays until the server has it. */
export function NoteEditor({ note, titles, onDone }: Props) {
  const draft = useDraft(note)
  const addFile = useAttachFile(note.id)
  const complete = useCompletionSources()
  useStatusBarLeft(keys)
  const leave = () => {
    draft.save()
    onDone()
  }
  if (draft.theirs)
    return (
      <NoteConflict
        base={draft.base.content}
        mine={draft.text}
        theirs={draft.theirs.content}
        onSettle={(text, edit) => {
          draft.settle(text)
          if (!edit) draft.save()
        }}
      />
    )
  return (
    <div className="stack">
      <Editor
        value={draft.text}
        onChange={draft.set}
        label={words.text}
        maxLength={262_144}
        isFocused
        onSave={draft.save}
        onLeave={draft.save}
        complete={complete}
        onFile={addFile}
        titles={titles}
      />
      {draft.error && <ProblemBox error={draft.error} />}
      <p className="row">
        <span className="soft t12" role="status">
          {saveStateText(draft)}
        </span>
        <span className="grow" />
        <button type="button" className="btn small" onClick={leave}>
          {words.done}
        </button>
      </p>
    </div>
  )
}

function saveStateText({ isSaving, isChanged, error }: ReturnType<typeof useDraft>): string {
  if (isSaving) return words.saving
  if (error) return words.notSaved
  return isChanged ? words.unsaved : words.saved
}

/** Completes titles of notes behind `[[`, and handles of the team's people behind `@`. */
function useCompletionSources() {
  const { team } = useRouteContext({ from: '/inside' })
  const members = useQuery(membersQuery(team.id)).data
  return useMemo(
    () => ({
      note: async (query: string) =>
        (await suggestNotes(query)).map(({ title }) => ({ insert: `[[${title}]]`, label: title })),
      person: async (query: string) => {
        const like = query.toLowerCase()
        return (members ?? [])
          .filter(({ handle, name }) => handle.startsWith(like) || name.toLowerCase().startsWith(like))
          .slice(0, 8)
          .map(({ handle, name }) => ({ insert: `@${handle} `, label: name, hint: `@${handle}` }))
      },
    }),
    [members],
  )
}
