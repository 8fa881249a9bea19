/** Forms for a new decision, one that replaces another, and the texts of one. */
import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { DecisionDetail, DecisionLogged } from '../../../features/decisions/schema.ts'
import { projectsQuery } from '../../account/session.ts'
import { newIdempotencyKey } from '../../api.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field, Select, TextArea } from '../../components/form/fields.tsx'
import { FormDialog, type SentForm, splitList } from '../../components/form/form.tsx'
import { SaveError } from '../../components/states.tsx'
import { EditorField } from '../../writing/editor-field.tsx'
import { type useChangeDecision, useLogDecision } from './queries.ts'
import { words } from './words.ts'

const textOf = (form: FormData, name: string): string => String(form.get(name) ?? '').trim()

/** The fields that a new and a changed decision share. */
function DecisionFields({ decision }: { decision?: DecisionDetail | undefined }) {
  return (
    <>
      <Field label={words.name} name="title" required maxLength={200} defaultValue={decision?.title} />
      <EditorField
        label={words.what}
        name="decision"
        rows={3}
        required
        maxLength={20_000}
        defaultValue={decision?.decision}
      />
      <EditorField
        label={words.rationale}
        name="rationale"
        rows={2}
        maxLength={20_000}
        defaultValue={decision?.rationale ?? ''}
      />
      <EditorField
        label={words.context}
        name="context"
        rows={2}
        maxLength={20_000}
        defaultValue={decision?.context ?? ''}
      />
      <Field label={words.tagList} name="tags" defaultValue={decision?.tags.join(', ')} />
    </>
  )
}

interface LogProps {
  /** The decision that the new one replaces. */
  supersedes?: DecisionDetail
  onClose(): void
  onLogged(id: string): void
}

export function LogDialog({ supersedes, onClose, onLogged }: LogProps) {
  const { team } = useRouteContext({ from: '/inside' })
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const log = useLogDecision()
  const [key] = useState(newIdempotencyKey)
  const [logged, setLogged] = useState<DecisionLogged>()
  const send = (form: SentForm) => {
    const [rationale, context, project] = ['rationale', 'context', 'project'].map((name) => form.text(name))
    const alternatives = form.list('alternatives', '\n')
    log.mutate(
      {
        key,
        title: form.text('title'),
        decision: form.text('decision'),
        status: form.has('proposed') ? 'proposed' : 'accepted',
        tags: form.list('tags'),
        ...(rationale && { rationale }),
        ...(context && { context }),
        ...(project && { projectId: project }),
        ...(alternatives.length > 0 && { alternatives }),
        ...(supersedes && { supersedes: supersedes.id }),
      },
      {
        onSuccess: (made) => {
          if (made.similar.length > 0) return setLogged(made)
          onClose()
          onLogged(made.id)
        },
      },
    )
  }
  const title = supersedes ? words.supersedeTitle(supersedes.title) : words.newTitle
  if (logged) return <SimilarDecisions title={title} logged={logged} onClose={onClose} onLogged={onLogged} />
  return (
    <FormDialog title={title} verb={words.log} busy={log.isPending} error={log.error} onClose={onClose} onSubmit={send}>
      <DecisionFields />
      <TextArea label={words.options} name="alternatives" rows={2} />
      <Select
        label={words.teamOrProject}
        name="project"
        defaultValue={supersedes?.projectId ?? ''}
        none={words.wholeTeam}
        options={projects}
      />
      <label className="row">
        <input type="checkbox" name="proposed" /> {words.asProposal}
      </label>
    </FormDialog>
  )
}

/** The new decision is there; its author learns of earlier ones that resemble it. */
function SimilarDecisions({ title, logged, onClose, onLogged }: { title: string; logged: DecisionLogged } & LogProps) {
  return (
    <Dialog title={title} open onClose={onClose}>
      <div className="stack s4">
        <p>{words.similar(logged.similar.length)}</p>
        <ul>
          {logged.similar.map((one) => (
            <li key={one.id}>
              <Link className="link" to="/decisions/$id" params={{ id: one.id }}>
                {one.title}
              </Link>
            </li>
          ))}
        </ul>
        <button
          type="button"
          className="btn main"
          onClick={() => {
            onClose()
            onLogged(logged.id)
          }}
        >
          {logged.title}
        </button>
      </div>
    </Dialog>
  )
}

interface EditProps {
  decision: DecisionDetail
  change: ReturnType<typeof useChangeDecision>
  onClose(): void
}

export function EditDialog({ decision, change, onClose }: EditProps) {
  const { error } = change
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const orNull = (name: string) => textOf(form, name) || null
    change.mutate(
      {
        title: textOf(form, 'title'),
        decision: textOf(form, 'decision'),
        rationale: orNull('rationale'),
        context: orNull('context'),
        tags: splitList(textOf(form, 'tags')),
      },
      { onSuccess: onClose },
    )
  }
  return (
    <Dialog title={words.editTitle} open onClose={onClose}>
      <form className="stack s4" onSubmit={send}>
        <DecisionFields decision={decision} />
        {error && <SaveError error={error} conflict={words.metOther} />}
        <button type="submit" className="btn main" disabled={change.isPending}>
          {words.save}
        </button>
      </form>
    </Dialog>
  )
}
