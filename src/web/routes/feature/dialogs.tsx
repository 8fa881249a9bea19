/** Forms over the page of a feature: evidence for a gate, an override, and its fields. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import type { Evidence } from '../../../features/projects/workflow/workflow-schema.ts'
import type { FeatureView } from '../../../features/workflow/schema.ts'
import { priorities } from '../../../records/task-states.ts'
import { agentsQuery, membersQuery } from '../../account/session.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field, Select, TextArea } from '../../components/form/fields.tsx'
import { splitList } from '../../components/form/form.tsx'
import { SaveError } from '../../components/states.tsx'
import { priorityNames } from '../../words.ts'
import type { FeatureActMutation } from './queries.ts'
import { humanizeName, words } from './words.ts'

interface Props {
  feature: FeatureView
  act: FeatureActMutation
  onClose(): void
}

const Refused = ({ error }: { error: Error | null }) => error && <SaveError error={error} conflict={words.metOther} />

const textOf = (form: FormData, name: string): string => String(form.get(name) ?? '').trim()

interface FormProps {
  act: FeatureActMutation
  submit: string
  onSubmit(form: FormData): void
  children: ReactNode
}

function Form({ act, submit, onSubmit, children }: FormProps) {
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    onSubmit(new FormData(event.currentTarget))
  }
  return (
    <form className="stack s4" onSubmit={send}>
      {children}
      <Refused error={act.error} />
      <button type="submit" className="btn main" disabled={act.isPending}>
        {submit}
      </button>
    </form>
  )
}

const lists = ['files', 'commits', 'pullRequests', 'testRuns', 'links'] as const

/** Returns the test result, if one was entered. The server says what it lacks. */
function testsOf(form: FormData): Pick<Evidence, 'tests'> {
  const [command, passed] = [textOf(form, 'command'), textOf(form, 'passed')]
  if (command === '' && passed === '') return {}
  return { tests: { command, passed: Number(passed), failed: Number(textOf(form, 'failed')) } }
}

const TestResult = () => (
  <>
    <label className="field">
      <span>{words.testCommand}</span>
      <input className="input mono" name="command" maxLength={500} />
    </label>
    <div className="two">
      <Field label={words.testsPassed} name="passed" type="number" min={0} />
      <Field label={words.testsFailed} name="failed" type="number" min={0} defaultValue={0} />
    </div>
  </>
)

/** The kinds of evidence that the gate requires; any kind can be submitted. */
const neededEvidence = ({ workflow }: FeatureView, gate: string): Set<string> =>
  new Set(workflow.gates?.find(({ name }) => name === gate)?.needs.flatMap(({ anyOf }) => anyOf))

export function EvidenceDialog({ feature, act, onClose, gate }: Props & { gate: string }) {
  const wanted = neededEvidence(feature, gate)
  const send = (form: FormData) => {
    const linesOf = (name: string) => splitList(textOf(form, name), '\n')
    const brought = Object.fromEntries(
      lists.map((name) => [name, linesOf(name)] as const).filter(([, all]) => all.length > 0),
    )
    const evidence = { summary: textOf(form, 'summary'), ...testsOf(form), ...brought }
    const level = form.get('verified') ? ('verified' as const) : ('reported' as const)
    act.mutate({ do: 'advance', body: { evidence, level } }, { onSuccess: onClose })
  }
  return (
    <Dialog title={words.evidenceTitle(humanizeName(gate))} open onClose={onClose}>
      <Form act={act} submit={words.advance(humanizeName(feature.next?.to ?? ''))} onSubmit={send}>
        <TextArea label={words.evidence.summary} name="summary" rows={2} required maxLength={10_000} />
        {wanted.has('tests') && <TestResult />}
        {lists
          .toSorted((a, b) => Number(wanted.has(b)) - Number(wanted.has(a)))
          .map((name) => (
            <label key={name} className="field">
              <span>
                {words.evidence[name]} <span className="soft t12">{words.oneEach}</span>
              </span>
              <textarea className="input area" name={name} rows={wanted.has(name) ? 2 : 1} />
            </label>
          ))}
        {feature.can.verify === true && (
          <label className="row">
            <input type="checkbox" name="verified" /> {words.iChecked}
          </label>
        )}
      </Form>
    </Dialog>
  )
}

export function OverrideDialog({ feature, act, onClose }: Props) {
  const send = (form: FormData) =>
    act.mutate(
      { do: 'override', body: { status: textOf(form, 'status'), reason: textOf(form, 'reason') } },
      { onSuccess: onClose },
    )
  return (
    <Dialog title={words.overrideTitle} open onClose={onClose}>
      <Form act={act} submit={words.overrideDo} onSubmit={send}>
        <p className="soft t13">{words.overrideText}</p>
        <label className="field">
          <span>{words.moveTo}</span>
          <select className="input" name="status" defaultValue={feature.next?.to}>
            {feature.states
              .filter((state) => state !== feature.status)
              .map((state) => (
                <option key={state} value={state}>
                  {humanizeName(state)}
                </option>
              ))}
          </select>
        </label>
        <TextArea label={words.reason} name="reason" rows={2} required maxLength={1000} />
      </Form>
    </Dialog>
  )
}

export function EditDialog({ feature, act, onClose }: Props) {
  const { team } = useRouteContext({ from: '/inside' })
  const members = useQuery(membersQuery(team.id)).data ?? []
  const agents = useQuery(agentsQuery(team.id)).data ?? []
  const [assignee, setAssignee] = useState(feature.assignee?.id ?? '')
  const parties = [...members, ...agents].map(({ id, name }) => ({ id, name }))
  if (feature.assignee && !parties.some(({ id }) => id === feature.assignee?.id)) parties.unshift(feature.assignee)
  const send = (form: FormData) => {
    const keys = textOf(form, 'tasks')
    const description = textOf(form, 'description')
    const spec = textOf(form, 'spec')
    act.mutate(
      {
        do: 'update',
        body: {
          title: textOf(form, 'title'),
          description: description === '' ? null : description,
          priority: form.get('priority') as FeatureView['priority'],
          ...(assignee !== (feature.assignee?.id ?? '') && { assignee: assignee === '' ? null : assignee }),
          taskIds: [...new Set(keys.split(/[\s,]+/).filter(Boolean))],
          specId: spec === '' ? null : spec,
        },
      },
      { onSuccess: onClose },
    )
  }
  return (
    <Dialog title={words.edit.replace('…', '')} open onClose={onClose}>
      <Form act={act} submit={words.save} onSubmit={send}>
        <Field label={words.title} name="title" defaultValue={feature.title} required maxLength={200} />
        <TextArea
          label={words.description}
          name="description"
          rows={6}
          maxLength={50_000}
          defaultValue={feature.description ?? ''}
        />
        <div className="two">
          <Select
            label={words.priority}
            name="priority"
            defaultValue={feature.priority}
            options={priorities.map((priority) => ({ value: priority, label: priorityNames[priority] }))}
          />
          <Select label={words.assignee} value={assignee} onText={setAssignee} none={words.nobody} options={parties} />
        </div>
        <Field label={words.taskKeys} name="tasks" defaultValue={feature.tasks.map(({ key }) => key).join(', ')} />
        <Field label={words.specRef} name="spec" defaultValue={feature.spec?.slug ?? ''} />
      </Form>
    </Dialog>
  )
}
