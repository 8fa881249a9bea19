/** Sponsors, and the issues that are mirrored from the code host. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Sponsor } from '../../../features/sponsors/schema.ts'
import { Field } from '../../components/form/fields.tsx'
import { FormDialog, type SentForm } from '../../components/form/form.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { ago } from '../../lib/times.ts'
import { AdminFrame, DataTable, PagedTable } from '../admin/parts.tsx'
import { useAdminChange } from '../admin/queries.ts'
import { SegmentedChoice } from './moderation.tsx'
import { PictureField } from './picture.tsx'
import { mirrorIssues, removeSponsor, reposQuery, saveSponsor, sponsorsQuery, trackedIssuesQuery } from './queries.ts'
import { words } from './words.ts'

const tiers = ['platinum', 'gold', 'silver', 'bronze'] as const

export function SponsorsPage() {
  const list = useInfiniteQuery(sponsorsQuery)
  const [editing, setEditing] = useState<Sponsor | 'new'>()
  const w = words.sponsors
  const [ask, asked] = useRemoval(useAdminChange(removeSponsor), ({ id, name }: Sponsor) => ({
    input: id,
    title: words.removeTitle(name),
    text: w.removeText,
    verb: words.remove,
    cancel: words.cancel,
  }))
  return (
    <AdminFrame at="sponsors">
      <p>
        <button type="button" className="btn" onClick={() => setEditing('new')}>
          {w.add}
        </button>
      </p>
      <PagedTable
        list={list}
        columns={[
          { title: w.columns.name, of: ({ name }) => <b className="b5">{name}</b> },
          { title: w.columns.tier, of: ({ tier }) => tier },
          { title: w.columns.active, of: ({ active }) => (active ? w.yes : w.no), wide: true },
          {
            title: w.columns.act,
            acts: true,
            of: (sponsor) => (
              <span className="row wraps">
                <RowButton
                  raised
                  label={words.edit}
                  name={words.editOf(sponsor.name)}
                  onClick={() => setEditing(sponsor)}
                />
                <RowButton label={words.remove} name={words.removeOf(sponsor.name)} onClick={() => ask(sponsor)} />
              </span>
            ),
          },
        ]}
      />
      {asked}
      {editing && <SponsorForm saved={editing === 'new' ? undefined : editing} onClose={() => setEditing(undefined)} />}
    </AdminFrame>
  )
}

function SponsorForm({ saved, onClose }: { saved?: Sponsor; onClose(): void }) {
  const save = useAdminChange(saveSponsor)
  const [logoId, setLogo] = useState(saved?.logoId ?? null)
  const w = words.sponsors
  const submit = (form: SentForm) => {
    const { text } = form
    const fields = {
      name: text('name'),
      url: text('url') || null,
      description: text('description') || null,
      tier: text('tier') as Sponsor['tier'],
      position: Number(text('position')) || 0,
      active: form.has('active'),
      logoId,
    }
    save.mutate({ ...fields, saved }, { onSuccess: onClose })
  }
  return (
    <FormDialog
      title={saved?.name ?? w.add}
      verb={words.save}
      busy={save.isPending}
      error={save.error}
      onClose={onClose}
      onSubmit={submit}
    >
      <Field label={w.name} name="name" required maxLength={100} defaultValue={saved?.name} />
      <Field label={w.url} name="url" pattern="https://.+" maxLength={500} defaultValue={saved?.url ?? ''} />
      <Field label={w.description} name="description" maxLength={300} defaultValue={saved?.description ?? ''} />
      <label className="field">
        <span>{w.tier}</span>
        <select className="input" name="tier" defaultValue={saved?.tier ?? 'bronze'}>
          {tiers.map((tier) => (
            <option key={tier}>{tier}</option>
          ))}
        </select>
      </label>
      <Field
        label={w.position}
        name="position"
        type="number"
        min={0}
        max={10_000}
        defaultValue={saved?.position ?? 0}
      />
      <label className="row t13">
        <input type="checkbox" name="active" defaultChecked={saved?.active ?? true} />
        <span>{w.active}</span>
      </label>
      <PictureField label={w.logo} id={logoId} alt={null} onChange={setLogo} />
    </FormDialog>
  )
}

export function TrackerPage() {
  const { data, error } = useQuery(reposQuery)
  const sync = useAdminChange(mirrorIssues)
  const w = words.tracker
  const said = (items: { added: number; changed: number }[]) =>
    w.done(
      items.reduce((sum, { added }) => sum + added, 0),
      items.reduce((sum, { changed }) => sum + changed, 0),
    )
  const problem = error ?? sync.error
  return (
    <AdminFrame at="tracker">
      {problem && <ProblemBox error={problem} />}
      {!data && !error && <Waiting />}
      {data?.items.length === 0 && (
        <p className="soft">
          {w.none}{' '}
          <Link className="link" to="/admin/settings">
            {w.name}
          </Link>
        </p>
      )}
      {data && data.items.length > 0 && (
        <>
          <p>
            <button
              type="button"
              className="btn"
              disabled={sync.isPending}
              onClick={() => sync.mutate(undefined, { onSuccess: ({ items }) => toast({ title: said(items) }) })}
            >
              {w.sync}
            </button>
          </p>
          <DataTable
            items={data.items.map((item) => ({ ...item, id: item.repo }))}
            columns={[
              { title: w.columns.repo, of: ({ repo }) => repo },
              { title: w.columns.open, of: ({ open }) => open },
              { title: w.columns.closed, of: ({ closed }) => closed, wide: true },
              { title: w.columns.synced, of: ({ syncedAt }) => (syncedAt ? ago(syncedAt) : w.never), wide: true },
              { title: w.columns.error, of: ({ error: why }) => why && <span className="warn">{why}</span> },
            ]}
          />
          <Issues />
        </>
      )}
    </AdminFrame>
  )
}

function Issues() {
  const [state, setState] = useState<'open' | 'closed'>('open')
  const list = useInfiniteQuery(trackedIssuesQuery(state))
  const w = words.tracker
  return (
    <section className="stack">
      <SegmentedChoice<'open' | 'closed'>
        label={words.columns.state}
        value={state}
        options={[
          ['open', w.open],
          ['closed', w.closed],
        ]}
        onChange={setState}
      />
      <PagedTable
        list={list}
        columns={[
          {
            title: w.issues.title,
            of: ({ url, number, title }) => (
              <a href={url} rel="noreferrer" target="_blank">
                #{number} {title}
              </a>
            ),
          },
          { title: w.issues.repo, of: ({ repo }) => repo, wide: true },
          { title: w.issues.author, of: ({ author }) => author, wide: true },
          { title: w.issues.at, of: ({ updatedAt }) => ago(updatedAt) },
        ]}
      />
    </section>
  )
}
