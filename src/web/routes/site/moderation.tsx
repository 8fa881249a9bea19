/** What visitors and users send: messages, posts of the community, and public skills and agents. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ModeratedItem } from '../../../features/marketplace/schema.ts'
import { Confirm } from '../../components/form/confirm.tsx'
import { Field } from '../../components/form/fields.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { dayAndTime } from '../../lib/times.ts'
import { AdminFrame, PagedTable, SearchForm } from '../admin/parts.tsx'
import { useAdminChange } from '../admin/queries.ts'
import {
  changeMessage,
  communityQuery,
  contactQuery,
  marketplaceQuery,
  moderatePost,
  removeMessage,
  removePost,
  setItemHidden,
} from './queries.ts'
import { words } from './words.ts'

interface ChoiceProps<T extends string> {
  label: string
  value: T
  options: readonly (readonly [T, string])[]
  onChange(value: T): void
}
/** Which part of a list is shown. */
export function SegmentedChoice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <div>
      <div className="seg" role="group" aria-label={label}>
        {options.map(([name, text]) => (
          <button key={name} type="button" aria-pressed={name === value} onClick={() => onChange(name)}>
            {text}
          </button>
        ))}
      </div>
    </div>
  )
}

export function ContactPage() {
  const [shown, setShown] = useState<'messages' | 'spam'>('messages')
  const isSpam = shown === 'spam'
  const list = useInfiniteQuery(contactQuery(isSpam))
  const change = useAdminChange(changeMessage)
  const w = words.contact
  const [ask, asked] = useRemoval(useAdminChange(removeMessage), ({ id, email }: { id: string; email: string }) => ({
    input: id,
    title: w.removeTitle(email),
    text: w.removeText,
    verb: words.remove,
    cancel: words.cancel,
  }))
  return (
    <AdminFrame at="contact">
      <SegmentedChoice<'messages' | 'spam'>
        label={words.columns.state}
        value={shown}
        options={[
          ['messages', w.messages],
          ['spam', w.spam],
        ]}
        onChange={setShown}
      />
      {change.error && <ProblemBox error={change.error} />}
      <PagedTable
        list={list}
        columns={[
          {
            title: w.columns.message,
            of: ({ subject, name, email, message, reason, readAt }) => (
              <span className="stack s1">
                <span className="row wraps">
                  {subject && <b className="b5">{subject}</b>}
                  {!readAt && <span className="flag">{w.unread}</span>}
                </span>
                <span className="t12 soft wrapany">{[name, email].filter(Boolean).join(', ')}</span>
                <span className="wrapany">{message}</span>
                {reason && <span className="t12 warn">{reason}</span>}
              </span>
            ),
          },
          { title: w.columns.at, of: ({ createdAt }) => dayAndTime(createdAt), wide: true },
          {
            title: w.columns.act,
            acts: true,
            of: ({ id, email, readAt, spam }) => (
              <span className="row wraps">
                {!readAt && (
                  <RowButton
                    label={w.read}
                    name={w.of(w.read, email)}
                    onClick={() => change.mutate({ id, readAt: new Date().toISOString() })}
                  />
                )}
                <RowButton
                  label={spam ? w.noSpam : w.isSpam}
                  name={w.of(spam ? w.noSpam : w.isSpam, email)}
                  onClick={() => change.mutate({ id, spam: !spam })}
                />
                <RowButton label={words.remove} name={w.of(words.remove, email)} onClick={() => ask({ id, email })} />
              </span>
            ),
          },
        ]}
      />
      {asked}
    </AdminFrame>
  )
}

export function CommunityPage() {
  const [status, setStatus] = useState<'hidden' | 'visible'>('hidden')
  const list = useInfiniteQuery(communityQuery(status))
  const change = useAdminChange(moderatePost)
  const w = words.community
  const [ask, asked] = useRemoval(useAdminChange(removePost), ({ id, title }: { id: string; title: string }) => ({
    input: id,
    title: words.removeTitle(title),
    text: w.removeText,
    verb: words.remove,
    cancel: words.cancel,
  }))
  return (
    <AdminFrame at="community">
      <SegmentedChoice<'hidden' | 'visible'>
        label={words.columns.state}
        value={status}
        options={[
          ['hidden', w.hidden],
          ['visible', w.visible],
        ]}
        onChange={setStatus}
      />
      {change.error && <ProblemBox error={change.error} />}
      <PagedTable
        list={list}
        columns={[
          {
            title: w.columns.title,
            of: ({ id, title, author }) => (
              <span className="stack who-t">
                <span>
                  <a className="b5 link" href={`/community/${id}/edit`}>
                    {title}
                  </a>
                </span>
                <span className="t12 soft">{author.name}</span>
              </span>
            ),
          },
          { title: w.columns.reports, of: ({ reports }) => reports, wide: true },
          { title: w.columns.at, of: ({ createdAt }) => dayAndTime(createdAt), wide: true },
          {
            title: w.columns.act,
            acts: true,
            of: ({ id, title, pinned }) => (
              <span className="row wraps">
                <RowButton
                  label={status === 'hidden' ? w.show : w.hide}
                  name={w.of(status === 'hidden' ? w.show : w.hide, title)}
                  onClick={() => change.mutate({ id, status: status === 'hidden' ? 'visible' : 'hidden' })}
                />
                <RowButton
                  label={pinned ? w.unpin : w.pin}
                  name={w.of(pinned ? w.unpin : w.pin, title)}
                  onClick={() => change.mutate({ id, pinned: !pinned })}
                />
                <RowButton label={words.remove} name={words.removeOf(title)} onClick={() => ask({ id, title })} />
              </span>
            ),
          },
        ]}
      />
      {asked}
    </AdminFrame>
  )
}

export function MarketplacePage() {
  const [search, setSearch] = useState('')
  const [hiding, setHiding] = useState<ModeratedItem>()
  const list = useInfiniteQuery(marketplaceQuery(search))
  const change = useAdminChange(setItemHidden)
  const w = words.marketplace
  return (
    <AdminFrame at="marketplace">
      <SearchForm label={w.find} value={search} onFind={setSearch} />
      {change.error && !hiding && <ProblemBox error={change.error} />}
      <PagedTable
        list={list}
        columns={[
          {
            title: w.columns.name,
            of: ({ name, kind, hidden, reason }) => (
              <span className="stack s1">
                <span className="row wraps">
                  <b className="b5">{name}</b>
                  <span className="t12 soft">{kind}</span>
                  {hidden && <span className="flag bad">{words.community.hidden}</span>}
                </span>
                {reason && <span className="t12 soft">{reason}</span>}
              </span>
            ),
          },
          { title: w.columns.author, of: ({ author }) => author?.name, wide: true },
          { title: w.columns.uses, of: ({ uses }) => uses, wide: true },
          { title: w.columns.reports, of: ({ reports }) => reports },
          {
            title: w.columns.act,
            acts: true,
            of: (item) =>
              item.hidden ? (
                <RowButton
                  label={w.show}
                  name={words.community.of(w.show, item.name)}
                  onClick={() => change.mutate({ kind: item.kind, id: item.id, hidden: false, reason: null })}
                />
              ) : (
                <RowButton
                  label={w.hide}
                  name={words.community.of(w.hide, item.name)}
                  onClick={() => setHiding(item)}
                />
              ),
          },
        ]}
      />
      {hiding && <Hiding item={hiding} change={change} onClose={() => setHiding(undefined)} />}
    </AdminFrame>
  )
}

interface HidingProps {
  item: ModeratedItem
  change: ReturnType<typeof useAdminChange<Parameters<typeof setItemHidden>[0], unknown>>
  onClose(): void
}

function Hiding({ item: { kind, id, name }, change, onClose }: HidingProps) {
  const [reason, setReason] = useState('')
  const w = words.marketplace
  return (
    <Confirm
      title={w.hideTitle(name)}
      verb={w.hide}
      cancel={words.cancel}
      busy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate({ kind, id, hidden: true, reason: reason.trim() || null }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>{w.hideText}</p>
      <Field label={w.reason} value={reason} maxLength={500} onText={setReason} />
    </Confirm>
  )
}
