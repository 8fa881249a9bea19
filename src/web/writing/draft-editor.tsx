/** The editor of a record's text with its draft: files, completion, and the merge of an edit conflict. */
import type { ComponentProps, ReactNode } from 'react'
import { ProblemBox } from '../components/states.tsx'
import { TextConflict } from '../components/text/conflict.tsx'
import { Editor } from '../components/text/editor.tsx'
import { useCompletionSources } from './completion-sources.tsx'
import { useFileStore } from './file-stores.ts'
import type { TextDraft } from './text-draft.ts'

interface Props extends Omit<ComponentProps<typeof Editor>, 'value' | 'onChange' | 'complete' | 'store' | 'isFocused'> {
  draft: TextDraft
  /** The record that the files belong to. */
  holder: Parameters<typeof useFileStore>[0]
  onSave(): void
  /** Whether the text is saved. */
  state: ReactNode
}

export function DraftEditor({ draft, holder, state, children, ...editor }: Props) {
  const store = useFileStore(holder)
  const complete = useCompletionSources()
  if (draft.theirs)
    return (
      <TextConflict
        base={draft.base.text}
        mine={draft.text}
        theirs={draft.theirs.text}
        onSettle={(text, edit) => {
          draft.settle(text)
          if (!edit) editor.onSave()
        }}
      />
    )
  return (
    <div className="stack">
      <Editor {...editor} value={draft.text} onChange={draft.set} isFocused complete={complete} store={store}>
        <span className="soft t12 grow" role="status">
          {state}
        </span>
        {children}
      </Editor>
      {draft.error && <ProblemBox error={draft.error} />}
    </div>
  )
}
