import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Ellipsis } from 'lucide-react'
import type { McpToken } from '../../../features/tokens/schema.ts'
import { projectsQuery, teamsQuery } from '../../account/session.ts'
import { Avatar } from '../../components/avatar.tsx'
import { describeProjectLimit } from '../../components/form/project-limit.tsx'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import { ago, day, isOlderThan } from '../../lib/times.ts'
import { words } from './words.ts'

/** A token that was not used for so many days is probably forgotten. */
const FORGOTTEN = 30

interface Props {
  tokens: readonly McpToken[]
  /** The token that was just created. */
  newId: string | undefined
  team: string
  mayRevoke: boolean
  onRevoke(token: McpToken): void
}

export const TokenTable = ({ tokens, ...rest }: Props) => (
  <section className="stack">
    <h2 className="h2">
      {words.inUse} <span className="soft t12">{tokens.length}</span>
    </h2>
    <div className="sheet tbl">
      <table>
        <thead>
          <tr className="t12 soft">
            <th>{words.columns.name}</th>
            <th>{words.columns.agent}</th>
            <th className="hp">{words.columns.scopes}</th>
            <th className="hp num">{words.columns.tools}</th>
            <th>{words.columns.client}</th>
            <th className="num">{words.columns.lastUse}</th>
            <th className="hp num">{words.columns.until}</th>
            <th>
              <span className="hide">{words.columns.more}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <Row key={token.id} token={token} {...rest} />
          ))}
        </tbody>
      </table>
    </div>
  </section>
)

function Row({ token, newId, team, mayRevoke, onRevoke }: Omit<Props, 'tokens'> & { token: McpToken }) {
  const teams = useQuery(teamsQuery).data ?? []
  const projects = useQuery(projectsQuery(team)).data ?? []
  const limit = describeProjectLimit(token.projects, projects)
  const elsewhere = token.organizationId === team ? undefined : teams.find(({ id }) => id === token.organizationId)
  return (
    <tr className={token.id === newId ? 'new' : ''}>
      <td>
        <b className="b5">{token.name}</b>
        <br />
        <span className="t12 soft">
          <span className="mono">
            {token.prefix}…{token.last4}
          </span>
          {elsewhere && ` · ${elsewhere.name}`}
          {limit && ` · ${limit}`}
        </span>
      </td>
      <td>
        {token.agentName && (
          <span className="row tight">
            <Avatar party={{ type: 'agent', id: token.agentId, name: token.agentName }} />
            <span className="hp">{token.agentName}</span>
          </span>
        )}
      </td>
      <td className="hp">{words.scopes(token.scopes)}</td>
      <td className="hp num" title={words.toolsets(token.toolsets)}>
        {words.toolsOf(token.tools.count, token.tools.tokens)}
      </td>
      <td>
        <Program token={token} />
      </td>
      <td className="num">
        <LastUse at={token.lastUsedAt} />
      </td>
      <td className="hp num soft">{day(token.expiresAt)}</td>
      <td>
        <More token={token} mayRevoke={mayRevoke} onRevoke={onRevoke} />
      </td>
    </tr>
  )
}

function Program({ token: { client, lastUsedAt } }: { token: McpToken }) {
  if (client) return [client.name, client.version?.split('.').slice(0, 2).join('.')].filter(Boolean).join(' ')
  return <span className="soft">{lastUsedAt ? words.unnamedClient : words.noClient}</span>
}

function LastUse({ at }: { at: string | null }) {
  if (at === null) return words.never
  return <span className={isOlderThan(at, FORGOTTEN) ? 'warn' : ''}>{words.ago(ago(at))}</span>
}

function More({ token, mayRevoke, onRevoke }: Pick<Props, 'mayRevoke' | 'onRevoke'> & { token: McpToken }) {
  const navigate = useNavigate()
  const entries = [
    ...(token.agentId ? [{ value: 'agent', label: words.openAgent }] : []),
    ...(mayRevoke ? [{ value: 'revoke', label: words.revoke, danger: true }] : []),
  ]
  const button = (
    <button type="button" className="ib" aria-label={words.moreAbout(token.name)}>
      <Ellipsis className="i" aria-hidden />
    </button>
  )
  if (entries.length === 0) return null
  return (
    <LazyMenu
      trigger={button}
      entries={entries}
      onChoose={(value) =>
        value === 'revoke'
          ? onRevoke(token)
          : void navigate({ to: '/agents/$id', params: { id: String(token.agentId) } })
      }
    />
  )
}
