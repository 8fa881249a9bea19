import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { useRef } from 'react'
import type { Grant } from '../../../features/grants/schema.ts'
import { projectsQuery } from '../../account/session.ts'
import { grants, ok } from '../../api.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { describeProjectLimit } from '../../components/form/project-limit.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { Section } from '../../components/section.tsx'
import { ago, day } from '../../lib/times.ts'
import { ItemLine, ItemList, SettingsSheet } from './parts.tsx'
import { grantsQuery, useSettingsChange } from './queries.ts'
import { titles, grantWords as w, words } from './words.ts'

type Named = readonly { id: string; name: string }[]

const factsOf = ({ host, agentName, scopes, projects, lastUsedAt, expiresAt }: Grant, known: Named, whose?: string) => [
  whose,
  host ? w.by(host) : w.unproven,
  agentName && w.as(agentName),
  w.may(scopes.some((scope) => scope.endsWith('write'))),
  describeProjectLimit(projects, known),
  lastUsedAt ? words.used(ago(lastUsedAt)) : words.never,
  words.until(day(expiresAt)),
]

export function Settings() {
  const mine = useQuery(grantsQuery())
  const end = useSettingsChange((id: string) => ok(grants.settings.grants({ id }).delete()))
  const [ask, asked] = useRemoval(end, ({ id, name }: Grant) => ({
    input: id,
    title: w.confirm(name),
    text: w.confirmText,
    verb: w.end,
    cancel: words.cancel,
  }))
  const isOwner = mine.data?.can.listTeam === true
  const about = (
    <>
      {w.about} <Link to="/tokens">{w.tokens}</Link>.
    </>
  )
  return (
    <SettingsSheet title={titles.grants} about={about}>
      {mine.data?.items.length === 0 ? <Empty /> : <List items={mine.data?.items} error={mine.error} onEnd={ask} />}
      {isOwner && <OfTeam onEnd={ask} />}
      {asked}
    </SettingsSheet>
  )
}

function Empty() {
  const line = useRef<HTMLElement>(null)
  return (
    <div className="stack">
      <p className="soft">{w.empty}</p>
      <p className="code line">
        <code className="grow" ref={line}>
          {w.line}
        </code>
        <CopyButton text={w.line} source={line} name={w.line} />
      </p>
    </div>
  )
}

interface ListProps {
  items: readonly Grant[] | undefined
  error: Error | null
  /** Says whose each is. */
  named?: boolean
  onEnd(grant: Grant): void
}

function List({ items, error, named = false, onEnd }: ListProps) {
  const { team } = useRouteContext({ from: '/inside' })
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  return (
    <ItemList
      items={items}
      error={error}
      label={named ? w.team : titles.grants}
      item={(grant) => (
        <>
          <ItemLine name={grant.name} facts={factsOf(grant, projects, named ? grant.user.name : undefined)} />
          {grant.can.revoke === true && (
            <RowButton raised label={w.end} name={`${w.end} ${grant.name}`} onClick={() => onEnd(grant)} />
          )}
        </>
      )}
    />
  )
}

/** The programs that others in the team authorized, for its owners. */
function OfTeam({ onEnd }: Pick<ListProps, 'onEnd'>) {
  const { team } = useRouteContext({ from: '/inside' })
  const { data: mine } = useQuery(grantsQuery())
  const { data, error } = useQuery(grantsQuery(team.id))
  const own = new Set(mine?.items.map(({ id }) => id))
  const others = data?.items.filter(({ id }) => !own.has(id))
  if (others?.length === 0) return null
  return (
    <Section title={w.team}>
      <p className="soft">{w.teamAbout}</p>
      <List items={others} error={error} named onEnd={onEnd} />
    </Section>
  )
}
