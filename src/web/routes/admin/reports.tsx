/** Reports of users with their answers, and what administrators tell everyone. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { ReportedIssue } from '../../../features/issues/schema.ts'
import { Confirm } from '../../components/form/confirm.tsx'
import { Field, TextArea } from '../../components/form/fields.tsx'
import { FormDialog, type SentForm } from '../../components/form/form.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { dayAndTime } from '../../lib/times.ts'
import { AdminFrame, PagedTable } from './parts.tsx'
import { announcementsQuery, changeIssue, issuesQuery, sendAnnouncement, useAdminChange } from './queries.ts'
import { words } from './words.ts'

type Status = ReportedIssue['status']
const statuses = Object.keys(words.issues.statuses) as Status[]

export function IssuesPage() {
  const list = useInfiniteQuery(issuesQuery)
  const change = useAdminChange(changeIssue)
  const [answering, setAnswering] = useState<ReportedIssue>()
  const columns = words.issues.columns
  return (
    <AdminFrame at="issues">
      {change.error && <ProblemBox error={change.error} />}
      <PagedTable
        list={list}
        columns={[
          {
            title: columns.title,
            of: (issue) => (
              <span className="stack s1">
                <b className="b5">{issue.title}</b>
                <span>{issue.description}</span>
                {issue.answer && <span className="soft">{issue.answer}</span>}
                <span>
                  <RowButton
                    raised
                    label={words.issues.answer}
                    name={words.issues.answerOf(issue.title)}
                    onClick={() => setAnswering(issue)}
                  />
                </span>
              </span>
            ),
          },
          { title: columns.who, of: ({ reporter }) => reporter.name, wide: true },
          {
            title: columns.status,
            of: ({ id, title, status }) => (
              <select
                className="input slim"
                aria-label={words.issues.statusOf(title)}
                value={status}
                onChange={(event) => change.mutate({ id, status: event.currentTarget.value as Status })}
              >
                {statuses.map((one) => (
                  <option key={one} value={one}>
                    {words.issues.statuses[one]}
                  </option>
                ))}
              </select>
            ),
          },
          { title: columns.at, of: ({ createdAt }) => dayAndTime(createdAt), wide: true },
        ]}
      />
      {answering && <AnswerDialog issue={answering} onClose={() => setAnswering(undefined)} />}
    </AdminFrame>
  )
}

function AnswerDialog({ issue, onClose }: { issue: ReportedIssue; onClose(): void }) {
  const change = useAdminChange(changeIssue)
  const submit = (form: SentForm) => {
    const answer = form.text('answer')
    change.mutate({ id: issue.id, answer: answer || null }, { onSuccess: onClose })
  }
  return (
    <FormDialog
      title={issue.title}
      verb={words.issues.send}
      busy={change.isPending}
      error={change.error}
      onClose={onClose}
      onSubmit={submit}
    >
      <TextArea label={words.issues.answer} name="answer" rows={5} defaultValue={issue.answer ?? ''} maxLength={5000} />
    </FormDialog>
  )
}

export function AnnouncementsPage() {
  const list = useInfiniteQuery(announcementsQuery)
  const [text, setText] = useState<{ title: string; message?: string }>()
  const columns = words.announcements.columns
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const value = (name: string) => String(new FormData(event.currentTarget).get(name)).trim()
    setText({ title: value('title'), ...(value('message') && { message: value('message') }) })
  }
  return (
    <AdminFrame at="announcements">
      <form className="stack" onSubmit={submit}>
        <Field label={words.announcements.title} name="title" required maxLength={200} />
        <TextArea label={words.announcements.message} name="message" rows={3} maxLength={2000} />
        <p>
          <button type="submit" className="btn">
            {words.announcements.send}
          </button>
        </p>
      </form>
      <PagedTable
        list={list}
        columns={[
          { title: columns.title, of: ({ title }) => title },
          { title: columns.by, of: ({ sentBy }) => sentBy?.name, wide: true },
          { title: columns.to, of: ({ recipients }) => recipients },
          { title: columns.at, of: ({ createdAt }) => dayAndTime(createdAt), wide: true },
        ]}
      />
      {text && <ConfirmAnnouncement text={text} onClose={() => setText(undefined)} />}
    </AdminFrame>
  )
}

function ConfirmAnnouncement({ text, onClose }: { text: { title: string; message?: string }; onClose(): void }) {
  const send = useAdminChange(sendAnnouncement)
  const done = () => {
    toast({ title: words.announcements.sent })
    onClose()
  }
  return (
    <Confirm
      title={words.announcements.confirmTitle}
      verb={words.announcements.send}
      cancel={words.cancel}
      busy={send.isPending}
      error={send.error}
      onConfirm={() => send.mutate(text, { onSuccess: done })}
      onClose={onClose}
    >
      <p>
        <b className="b5">{text.title}</b>
      </p>
      <p>{words.announcements.confirmText}</p>
    </Confirm>
  )
}
