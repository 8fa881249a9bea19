/** The description of a task, written in place. ⌘↵ saves it: every save is an event that agents read. */
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useContext, useState } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { ok, okUndoable, tasks, writeOptions } from '../../api.ts'
import { Markdown } from '../../components/text/markdown.tsx'
import { recordWrittenVersion } from '../../live/written-versions.ts'
import { useCommands } from '../../shortcuts.ts'
import { offerUndo } from '../../undo.ts'
import { mustWait, sendOrWait } from '../../waiting/send-or-wait.ts'
import { NotSent } from '../../waiting/waiting-edits.tsx'
import { words as common } from '../../words.ts'
import { DraftEditor } from '../../writing/draft-editor.tsx'
import { hasTextDraft, type TextDraft, useTextDraft, useUserId } from '../../writing/text-draft.ts'
import { SaveButtons } from '../../writing/text-form.tsx'
import { taskQuery } from './queries.ts'
import { HeadingLevel } from './section.tsx'
import { words } from './words.ts'

interface Props {
  task: TaskDetail
  may: boolean
}

const draftName = ({ id }: TaskDetail): string => `task ${id}`

export function TaskDescription({ task, may }: Props) {
  const userId = useUserId()
  const [editing, setEditing] = useState(may && hasTextDraft(userId, draftName(task)))
  const isPage = useContext(HeadingLevel) === 1
  const navigate = useNavigate()
  useCommands(may && isPage ? [{ keys: 'e', label: words.editText, run: () => setEditing(true) }] : [])
  if (editing && may) return <DescriptionEditor task={task} onClose={() => setEditing(false)} />
  return (
    <div className="stack s1">
      {task.description ? (
        <Markdown text={task.description} onFollow={(path) => void navigate({ to: path })} />
      ) : (
        !may && <p className="soft">{words.noDescription}</p>
      )}
      <NotSent id={task.id} field="description" />
      {may && (
        <p>
          <button type="button" className="btn small quiet soft" onClick={() => setEditing(true)}>
            {task.description ? words.editText : words.addText}
          </button>
        </p>
      )}
    </div>
  )
}

function useDescriptionDraft(task: TaskDetail): TextDraft {
  const cache = useQueryClient()
  const one = tasks.tasks({ id: task.id })
  return useTextDraft({
    name: draftName(task),
    saved: { text: task.description ?? '', version: task.version },
    save: async (text, version) => {
      const description = text.trim() === '' ? null : text
      const patch = { description }
      const sent = await sendOrWait(
        (attempt) => {
          attempt.sentVersion = version
          return okUndoable(one.patch(patch, writeOptions(version, attempt.key)))
        },
        (code, attempt) => {
          // The draft is older than the text on the page, so the server has to merge both.
          if (version < task.version) throw new Error(common.needsConnection)
          code.editTasks({ tasks: [task], patch }, attempt)
        },
      )
      if (!sent) return version
      const { data, changeId } = sent
      recordWrittenVersion(task.id, data.version)
      if (changeId) offerUndo(words.changed(task.key, undefined), changeId)
      return data.version
    },
    readCurrent: async () => {
      const { description, version } = await ok(one.get())
      return { text: description ?? '', version }
    },
    onSaved: ({ text, version }) => {
      if (mustWait()) return
      const { queryKey } = taskQuery(task.key)
      cache.setQueryData(queryKey, (now) => now && { ...now, description: text || null, version })
      void cache.invalidateQueries({ queryKey })
    },
  })
}

function DescriptionEditor({ task, onClose }: { task: TaskDetail; onClose(): void }) {
  const draft = useDescriptionDraft(task)
  const save = () => draft.save(onClose)
  const cancel = () => {
    draft.discard()
    onClose()
  }
  return (
    <DraftEditor
      draft={draft}
      holder={{ kind: 'task', id: task.id }}
      label={words.description}
      rows={5}
      maxLength={50_000}
      state={draft.isSaving ? words.saving : draft.isChanged && words.draftKept}
      onSave={save}
      onEscape={onClose}
    >
      <SaveButtons onSave={save} onCancel={cancel} />
    </DraftEditor>
  )
}
