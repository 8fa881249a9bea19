/** The reader's MCP tokens: which agent uses each, what it may do, and when it was used last. */
import { useQuery } from '@tanstack/react-query'
import type { McpToken } from '../../../features/tokens/schema.ts'
import { Avatar } from '../../components/party.tsx'
import { AfterAMoment, Empty, ProblemBox, Skeleton } from '../../components/states.tsx'
import { ago, day } from '../../times.ts'
import { tokensQuery } from './queries.ts'
import { words } from './words.ts'

export function TokensPage() {
  const { data, error } = useQuery(tokensQuery)
  return (
    <div className="scroll">
      <div className="page stack s5">
        <header className="row wide phead">
          <div className="grow">
            <h1 className="h1">{words.title}</h1>
            <p className="soft">{words.about}</p>
          </div>
        </header>
        {error && !data && <ProblemBox error={error} />}
        {!data && !error && (
          <AfterAMoment>
            <Skeleton />
          </AfterAMoment>
        )}
        {data?.length === 0 && (
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
            <code className="code">{words.command}</code>
          </Empty>
        )}
        {data && data.length > 0 && <InUse tokens={data} />}
      </div>
    </div>
  )
}

const InUse = ({ tokens }: { tokens: readonly McpToken[] }) => (
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
            <th className="num">{words.columns.lastUse}</th>
            <th className="hp num">{words.columns.until}</th>
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <Row key={token.id} token={token} />
          ))}
        </tbody>
      </table>
    </div>
  </section>
)

const Row = ({ token }: { token: McpToken }) => (
  <tr>
    <td>
      <b className="b5">{token.name}</b>
      <br />
      <span className="t12 soft mono">
        {token.prefix}…{token.last4}
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
    <td className="hp">{token.scopes.join(', ')}</td>
    <td className="num">{token.lastUsedAt ? words.ago(ago(token.lastUsedAt)) : words.never}</td>
    <td className="hp num soft">{day(token.expiresAt)}</td>
  </tr>
)
