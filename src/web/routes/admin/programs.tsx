/** Programs that ask users to authorize them: how each became known, how many people use it, and how to end it. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { OauthClient } from '../../../features/grants/schema.ts'
import { CopyLine } from '../../components/copy-line.tsx'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field, TextArea } from '../../components/form/fields.tsx'
import { FormDialog, type SentForm } from '../../components/form/form.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { ago, dayAndTime } from '../../lib/times.ts'
import { AdminFrame, PagedTable } from './parts.tsx'
import { addProgram, programsQuery, removeProgram, useAdminChange } from './queries.ts'
import { words } from './words.ts'

const w = words.programs

export function ProgramsPage() {
  const list = useInfiniteQuery(programsQuery)
  const [adding, setAdding] = useState(false)
  const [ask, asked] = useRemoval(useAdminChange(removeProgram), ({ id, kind, name }: OauthClient) => ({
    input: id,
    title: w.removeTitle(name),
    text: kind === 'added' ? w.removeText : `${w.removeText} ${w.comesBack}`,
    verb: w.remove,
    cancel: words.cancel,
  }))
  const { columns } = w
  return (
    <AdminFrame at="programs">
      <div className="row wraps">
        <p className="soft grow">{w.about}</p>
        <button type="button" className="btn" onClick={() => setAdding(true)}>
          {w.add}
        </button>
      </div>
      <PagedTable
        list={list}
        columns={[
          { title: columns.name, of: (program) => <Program program={program} /> },
          { title: columns.by, of: ({ kind }) => w.kinds[kind], wide: true },
          { title: columns.people, of: ({ grants }) => grants },
          { title: columns.used, of: ({ lastUsedAt }) => (lastUsedAt ? w.ago(ago(lastUsedAt)) : w.never), wide: true },
          { title: columns.since, of: ({ createdAt }) => dayAndTime(createdAt), wide: true },
          {
            title: columns.act,
            acts: true,
            of: (program) => (
              <RowButton label={w.remove} name={w.removeOf(program.name)} onClick={() => ask(program)} />
            ),
          },
        ]}
      />
      {asked}
      {adding && <AddProgramDialog onClose={() => setAdding(false)} />}
    </AdminFrame>
  )
}

/** Its name is what it calls itself; the line below shows what is proven, or at least where users are sent back to. */
const Program = ({ program: { id, kind, name, redirectUris } }: { program: OauthClient }) => (
  <span className="stack who-t">
    <b className="b5">{name}</b>
    <span className="t12 soft">{kind === 'document' ? id : redirectUris.join(', ')}</span>
  </span>
)

/** For programs that cannot register themselves: they are given the id, which is no secret. */
function AddProgramDialog({ onClose }: { onClose(): void }) {
  const add = useAdminChange(addProgram)
  const submit = (form: SentForm) => {
    const redirectUris = form.text('redirectUris').split(/\s+/).filter(Boolean)
    add.mutate({ name: form.text('name'), redirectUris })
  }
  if (add.data)
    return (
      <Dialog title={add.data.name} open onClose={onClose}>
        <div className="stack s4">
          <CopyLine label={w.added} text={add.data.id} />
          <button type="button" className="btn main" onClick={onClose}>
            {w.done}
          </button>
        </div>
      </Dialog>
    )
  return (
    <FormDialog title={w.add} verb={w.add} busy={add.isPending} error={add.error} onClose={onClose} onSubmit={submit}>
      <p className="soft">{w.addAbout}</p>
      <Field label={w.name} name="name" required maxLength={100} autoComplete="off" />
      <TextArea label={w.redirects} name="redirectUris" required rows={3} placeholder={w.example} />
    </FormDialog>
  )
}
