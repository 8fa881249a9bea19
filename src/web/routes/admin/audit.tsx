/** The audit log: who did what, by person, kind and day. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Field, optionsOf, Select } from '../../components/form/fields.tsx'
import { AdminFrame, AuditCell, PagedTable } from './parts.tsx'
import { type AuditFilter, auditQuery } from './queries.ts'
import { words } from './words.ts'

export function AuditPage() {
  const [filter, setFilter] = useState<AuditFilter>({})
  const list = useInfiniteQuery(auditQuery(filter))
  return (
    <AdminFrame at="audit">
      <AuditFilterForm key={JSON.stringify(filter)} filter={filter} onFilter={setFilter} />
      <PagedTable list={list} columns={[{ title: words.audit.entries, of: (entry) => <AuditCell entry={entry} /> }]} />
    </AdminFrame>
  )
}

interface FormProps {
  filter: AuditFilter
  onFilter(filter: AuditFilter): void
}

function AuditFilterForm({ filter, onFilter }: FormProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const given = ['person', 'type', 'day'].map((name) => [name, String(form.get(name)).trim()] as const)
    onFilter(Object.fromEntries(given.filter(([, value]) => value !== '')))
  }
  return (
    <form className="row inviteform" role="search" aria-label={words.audit.filter} onSubmit={submit}>
      <Field label={words.audit.person} grow name="person" type="search" defaultValue={filter.person} maxLength={100} />
      <Select
        label={words.audit.kind}
        name="type"
        defaultValue={filter.type ?? ''}
        none={words.audit.allKinds}
        options={optionsOf(words.audit.kinds)}
      />
      <Field label={words.audit.day} name="day" type="date" defaultValue={filter.day} />
      <button type="submit" className="btn">
        {words.find}
      </button>
      {Object.keys(filter).length > 0 && (
        <button type="button" className="btn quiet" onClick={() => onFilter({})}>
          {words.audit.clear}
        </button>
      )}
    </form>
  )
}
