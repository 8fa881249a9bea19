/** Forms for a skill: its text, and a new one. */
import { type FormEvent, useState } from 'react'
import type { SkillDetail } from '../../../features/skills/schema.ts'
import { newIdempotencyKey } from '../../api.ts'
import { Field, TextArea } from '../../components/form/fields.tsx'
import { FormDialog, type SentForm, splitList } from '../../components/form/form.tsx'
import { SaveError } from '../../components/states.tsx'
import { Editor } from '../../components/text/editor.tsx'
import { useCompletionSources } from '../../writing/completion-sources.tsx'
import { EditorField } from '../../writing/editor-field.tsx'
import { type useChangeSkill, useCreateSkill } from './queries.ts'
import { words } from './words.ts'

const MOST = 256 << 10

const textOf = (form: FormData, name: string): string => String(form.get(name) ?? '').trim()

const Names = ({ skill }: { skill?: SkillDetail }) => (
  <>
    <Field label={words.name} name="name" required maxLength={100} defaultValue={skill?.name} />
    <TextArea label={words.when} name="description" rows={2} maxLength={1024} defaultValue={skill?.description ?? ''} />
    <Field label={words.tagList} name="tags" defaultValue={skill?.tags.join(', ')} />
  </>
)

interface WritingProps {
  skill: SkillDetail
  change: ReturnType<typeof useChangeSkill>
  onEnd(): void
}

export function SkillEditor({ skill, change, onEnd }: WritingProps) {
  const [content, setContent] = useState(skill.content)
  const complete = useCompletionSources()
  const { error } = change
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const patch = {
      name: textOf(form, 'name'),
      description: textOf(form, 'description') || null,
      tags: splitList(textOf(form, 'tags')),
      content,
    }
    change.mutate(patch, { onSuccess: onEnd })
  }
  return (
    <form className="stack s4" onSubmit={send}>
      <Names skill={skill} />
      <Editor
        label={words.content}
        value={content}
        onChange={setContent}
        maxLength={MOST}
        rows={18}
        complete={complete}
        onSave={() => change.mutate({ content }, { onSuccess: onEnd })}
      />
      {error && <SaveError error={error} conflict={words.metOther} />}
      <span className="row">
        <button type="submit" className="btn main" disabled={change.isPending}>
          {words.save}
        </button>
        <button type="button" className="btn quiet" onClick={onEnd}>
          {words.cancel}
        </button>
      </span>
    </form>
  )
}

export function CreateSkillDialog({ onClose, onCreated }: { onClose(): void; onCreated(slug: string): void }) {
  const create = useCreateSkill()
  const [key] = useState(newIdempotencyKey)
  const send = (form: SentForm) => {
    const description = form.text('description')
    create.mutate(
      {
        key,
        name: form.text('name'),
        content: form.text('content'),
        tags: form.list('tags'),
        ...(description && { description }),
      },
      {
        onSuccess: ({ slug }) => {
          onClose()
          onCreated(slug)
        },
      },
    )
  }
  return (
    <FormDialog
      title={words.newTitle}
      verb={words.create}
      busy={create.isPending}
      error={create.error}
      onClose={onClose}
      onSubmit={send}
    >
      <Names />
      <EditorField label={words.content} name="content" rows={8} maxLength={MOST} />
    </FormDialog>
  )
}
