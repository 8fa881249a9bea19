/** The reader's MCP tokens: the agent, the scopes and the last use of each. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useRouteContext } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { McpToken } from '../../../features/tokens/schema.ts'
import { teamsQuery } from '../../account/session.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { EmptyState, LoadStatus } from '../../components/states.tsx'
import { Kbd, useStatusBarLeft } from '../../components/status-bar.tsx'
import { toast } from '../../components/toasts.tsx'
import { useKey } from '../../shortcuts.ts'
import { CreateToken, type NewToken } from './create.tsx'
import { TokenTable } from './list.tsx'
import { NewTokenSheet } from './new-token.tsx'
import { tokensQuery, useRevokeToken } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/tokens')

const keysHere = (
  <span className="row">
    <Kbd>c</Kbd>
    {words.keys.create}
  </span>
)

export function TokensPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const { agent } = route.useSearch()
  const navigate = route.useNavigate()
  const name = useQuery(teamsQuery).data?.find(({ id }) => id === team.id)?.name ?? ''
  const { data, error } = useQuery(tokensQuery)
  const [adding, setAdding] = useState(agent !== undefined)
  const [made, setMade] = useState<NewToken>()
  const [ask, asked] = useRemoval(useRevokeToken(), ({ id, name }: McpToken) => ({
    input: id,
    title: words.revokeTitle(name),
    text: words.revokeText,
    verb: words.revoke,
    cancel: words.cancel,
    onRemoved: () => toast({ title: words.revoked(name) }),
  }))
  const may = data?.can.create === true
  const add = () => may && !made && setAdding(true)
  useKey('c', add, { label: words.newToken })
  useStatusBarLeft(may ? keysHere : null)
  const close = () => {
    setAdding(false)
    if (agent) void navigate({ search: { agent: undefined } })
  }
  return (
    <div className="scroll">
      <div className="page stack s5">
        <header className="row wide phead">
          <div className="grow">
            <h1 className="h1">{words.title}</h1>
            <p className="soft">{words.about}</p>
          </div>
          {may && !made && <NewButton onClick={add} />}
        </header>
        {made && <NewTokenSheet key={made.token.id} made={made} team={name} onDone={() => setMade(undefined)} />}
        <LoadStatus of={{ data, error }} />
        {data?.items.length === 0 && !made && (
          <EmptyState title={words.none}>
            <p className="soft">{words.noneText}</p>
            <code className="code">{words.command}</code>
          </EmptyState>
        )}
        {data && data.items.length > 0 && (
          <TokenTable
            tokens={data.items}
            newId={made?.token.id}
            team={team.id}
            mayRevoke={data.can.revoke === true}
            onRevoke={ask}
          />
        )}
      </div>
      {adding && may && (
        <Dialog title={words.newToken} open onClose={close}>
          <CreateToken
            agentId={agent}
            onCreated={(created) => {
              setMade(created)
              close()
            }}
          />
        </Dialog>
      )}
      {asked}
    </div>
  )
}

const NewButton = ({ onClick }: { onClick(): void }) => (
  <button type="button" className="btn" onClick={onClick}>
    <Plus className="i s14" aria-hidden />
    {words.newToken}
  </button>
)
