import type { AgentDetail } from '../../../features/agents/schema.ts'
import { Field, TextArea } from '../../components/form/fields.tsx'
import { FormDialog, type SentForm } from '../../components/form/form.tsx'
import { useChangeAgent } from './queries.ts'
import { words } from './words.ts'

const lines = ['role', 'model', 'provider'] as const
const texts = ['persona', 'systemPrompt'] as const

export function EditAgent({ agent, onClose }: { agent: AgentDetail; onClose(): void }) {
  const change = useChangeAgent(agent)
  const submit = (form: SentForm) => {
    const { text: value } = form
    // Only what changed is sent, so that no one else's change is written over.
    const changed = [...lines, ...texts].filter((name) => value(name) !== (agent[name] ?? ''))
    const name = value('name') === agent.name ? {} : { name: value('name') }
    const patch = { ...name, ...Object.fromEntries(changed.map((field) => [field, value(field) || null])) }
    if (Object.keys(patch).length === 0) onClose()
    else change.mutate(patch, { onSuccess: onClose })
  }
  return (
    <FormDialog
      title={agent.name}
      verb={words.form.save}
      busy={change.isPending}
      error={change.error}
      onClose={onClose}
      onSubmit={submit}
    >
      <Field label={words.form.name} name="name" defaultValue={agent.name} required maxLength={100} />
      {lines.map((name) => (
        <Field
          key={name}
          label={words.form[name]}
          name={name}
          defaultValue={agent[name] ?? ''}
          maxLength={name === 'role' ? 200 : 100}
        />
      ))}
      {texts.map((name) => (
        <TextArea
          key={name}
          label={words.form[name]}
          name={name}
          rows={5}
          defaultValue={agent[name] ?? ''}
          maxLength={10_000}
        />
      ))}
    </FormDialog>
  )
}
