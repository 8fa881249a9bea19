import type { FormEvent } from 'react'
import type { WorkspaceDetail } from '../../../features/workspaces/schema.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Field, TextArea } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { useWorkspaceChange } from './queries.ts'
import { words } from './words.ts'

export function EditWorkspace({ workspace, onClose }: { workspace: WorkspaceDetail; onClose(): void }) {
  const { mutate, error, isPending } = useWorkspaceChange(workspace)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const values = new FormData(event.currentTarget)
    const about = String(values.get('description')).trim()
    mutate({ update: { name: String(values.get('name')), description: about || null } }, { onSuccess: onClose })
  }
  return (
    <Dialog title={words.edit} open onClose={onClose}>
      <form className="stack s4" onSubmit={submit}>
        <Field label={words.name} name="name" required maxLength={100} defaultValue={workspace.name} />
        <TextArea
          label={words.description}
          name="description"
          rows={3}
          maxLength={2000}
          defaultValue={workspace.description ?? ''}
        />
        {error && <ProblemBox error={error} />}
        <button type="submit" className="btn main" disabled={isPending}>
          {words.save}
        </button>
      </form>
    </Dialog>
  )
}
