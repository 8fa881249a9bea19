/** The reader's MCP tokens: the agent, the scopes and the last use of each. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useRouteContext } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { McpToken } from '../../../features/tokens/schema.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Kbd, useFootLeft } from '../../components/foot.tsx'
import { useRemoval } from '../../components/removal.tsx'
import { Empty, LoadStatus } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useKey } from '../../keys.ts'
import { teamsQuery } from '../../session.ts'
import { CreateToken, type NewToken } from './create.tsx'
import { InUse } from './list.tsx'
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
  useFootLeft(may ? keysHere : null)
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
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
            <code className="code">{words.command}</code>
          </Empty>
        )}
        {data && data.items.length > 0 && (
          <InUse
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
