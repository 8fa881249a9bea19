/** Pages, posts and categories of the public site. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Field } from '../../components/form/fields.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { ago } from '../../lib/times.ts'
import { AdminFrame, DataTable, PagedTable, SearchForm } from '../admin/parts.tsx'
import { useAdminChange } from '../admin/queries.ts'
import {
  categoriesQuery,
  createCategory,
  removeCategory,
  removeText,
  restoreText,
  type SiteTextKind,
  textsQuery,
} from './queries.ts'
import { SiteTextForm } from './text-form.tsx'
import { words } from './words.ts'

export function SitePage() {
  const [editing, setEditing] = useState<{ kind: SiteTextKind; id?: string }>()
  const end = () => setEditing(undefined)
  if (editing)
    return (
      <AdminFrame at="site">
        <SiteTextForm {...editing} onEnd={end} />
      </AdminFrame>
    )
  return (
    <AdminFrame at="site">
      {(['pages', 'posts'] as const).map((kind) => (
        <Texts key={kind} kind={kind} onEdit={(id) => setEditing({ kind, id })} />
      ))}
      <Categories />
    </AdminFrame>
  )
}

interface Shown {
  id: string
  version: number
  title: string
}

function Texts({ kind, onEdit }: { kind: SiteTextKind; onEdit(id?: string): void }) {
  const [search, setSearch] = useState('')
  const [isDeleted, setDeleted] = useState(false)
  const list = useInfiniteQuery(textsQuery(kind, search, isDeleted))
  const [ask, asked] = useRemoval(useAdminChange(removeText), (text: Shown) => ({
    input: { kind, ...text },
    title: words.removeTitle(text.title),
    text: words.removeText,
    verb: words.remove,
    cancel: words.cancel,
  }))
  const restore = useAdminChange(restoreText)
  const { columns } = words
  return (
    <section className="stack" aria-label={words[kind]}>
      <header className="row wraps">
        <h2 className="h2 grow">{words[kind]}</h2>
        <button type="button" className="btn" onClick={() => onEdit()}>
          {words.newOf[kind]}
        </button>
      </header>
      <SearchForm label={words.findOf[kind]} value={search} onFind={setSearch} />
      <label className="row t13">
        <input type="checkbox" checked={isDeleted} onChange={(event) => setDeleted(event.currentTarget.checked)} />
        <span>{words.deletedOf[kind]}</span>
      </label>
      {restore.error && <ProblemBox error={restore.error} />}
      <PagedTable
        list={list}
        columns={[
          { title: words.one[kind], of: ({ title }) => <b className="b5">{title}</b> },
          {
            title: columns.state,
            of: ({ live, status }) => (
              <span className={live ? 'flag good' : 'flag'}>
                {isDeleted ? words.deleted : words.state(live, status)}
              </span>
            ),
          },
          { title: columns.changed, of: ({ updatedAt }) => ago(updatedAt), wide: true },
          {
            title: columns.act,
            acts: true,
            of: (text) =>
              isDeleted ? (
                <RowButton
                  raised
                  label={words.restore}
                  name={words.restoreOf(text.title)}
                  onClick={() => restore.mutate({ kind, ...text })}
                />
              ) : (
                <TextActs title={text.title} onEdit={() => onEdit(text.id)} onRemove={() => ask(text)} />
              ),
          },
        ]}
      />
      {asked}
    </section>
  )
}

const TextActs = ({ title, onEdit, onRemove }: { title: string; onEdit(): void; onRemove(): void }) => (
  <span className="row tight">
    <button type="button" className="btn small" aria-label={words.editOf(title)} onClick={onEdit}>
      {words.edit}
    </button>
    <button type="button" className="btn small quiet" aria-label={words.removeOf(title)} onClick={onRemove}>
      {words.remove}
    </button>
  </span>
)

function Categories() {
  const { data, error } = useQuery(categoriesQuery)
  const create = useAdminChange(createCategory)
  const remove = useAdminChange(removeCategory)
  const problem = error ?? create.error ?? remove.error
  const { columns } = words
  return (
    <section className="stack" aria-label={words.categories}>
      <h2 className="h2">{words.categories}</h2>
      {problem && <ProblemBox error={problem} />}
      {data && (
        <DataTable
          items={data.items}
          columns={[
            { title: columns.name, of: ({ name }) => name },
            { title: columns.posts, of: ({ posts }) => posts },
            {
              title: columns.act,
              acts: true,
              of: (category) => (
                <RowButton
                  label={words.remove}
                  name={words.removeOf(category.name)}
                  onClick={() => remove.mutate(category)}
                />
              ),
            },
          ]}
        />
      )}
      <form
        className="row inviteform"
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          const name = String(new FormData(form).get('name')).trim()
          if (name) create.mutate({ name }, { onSuccess: () => form.reset() })
        }}
      >
        <Field label={words.categoryName} grow name="name" required maxLength={60} />
        <button type="submit" className="btn" disabled={create.isPending}>
          {words.add}
        </button>
      </form>
    </section>
  )
}
