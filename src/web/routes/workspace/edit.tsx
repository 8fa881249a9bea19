import type { WorkspaceDetail } from '../../../features/workspaces/schema.ts'
import { Field, TextArea } from '../../components/form/fields.tsx'
import { FormDialog, type SentForm } from '../../components/form/form.tsx'
import { useWorkspaceChange } from './queries.ts'
import { words } from './words.ts'

export function EditWorkspace({ workspace, onClose }: { workspace: WorkspaceDetail; onClose(): void }) {
  const { mutate, error, isPending } = useWorkspaceChange(workspace)
  const submit = (form: SentForm) => {
    const about = form.text('description')
    mutate({ update: { name: form.text('name'), description: about || null } }, { onSuccess: onClose })
  }
  return (
    <FormDialog title={words.edit} verb={words.save} busy={isPending} error={error} onClose={onClose} onSubmit={submit}>
      <Field label={words.name} name="name" required maxLength={100} defaultValue={workspace.name} />
      <TextArea
        label={words.description}
        name="description"
        rows={3}
        maxLength={2000}
        defaultValue={workspace.description ?? ''}
      />
    </FormDialog>
  )
}
