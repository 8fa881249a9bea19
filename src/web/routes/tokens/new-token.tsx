/** A token that was just created: its secret, the settings for a client, and whether one has connected. */
import { useQuery } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { Check, CircleCheck } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { type AgentClientName, anyClient, clients, settingsText } from '../../../clients.ts'
import type { McpToken } from '../../../features/tokens/schema.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Confirm } from '../../components/form/confirm.tsx'
import { AgentGlyph } from '../../components/glyphs.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { day, timeOfDay } from '../../lib/times.ts'
import type { NewToken } from './create.tsx'
import { tokenQuery } from './queries.ts'
import { words } from './words.ts'

type Tab = AgentClientName | 'other'
const tabs: { value: Tab; label: string }[] = [
  ...(Object.keys(clients) as AgentClientName[]).map((value) => ({ value, label: clients[value].title })),
  { value: 'other', label: anyClient.title },
]

interface Props {
  made: NewToken
  team: string
  onDone(): void
  /** The button that ends it, where it is not "Done". */
  done?: string
}

export function NewTokenSheet({ made: { token: made, secret, program }, team, onDone, done = words.done }: Props) {
  const [stored, setStored] = useState(false)
  const [tab, setTab] = useState<Tab>(program ?? 'other')
  const token = useQuery({ ...tokenQuery(made.id), refetchInterval: 15_000 }).data ?? { ...made, can: undefined }
  const blocker = useBlocker({
    shouldBlockFn: () => !stored,
    enableBeforeUnload: () => !stored,
    withResolver: true,
  })
  const shown = stored ? `${made.prefix}${'•'.repeat(24)}${made.last4}` : secret
  return (
    <section className="sheet newtok" aria-label={words.newToken}>
      <header className="row padx">
        <h2 className="h2">{made.name}</h2>
        {token.agentName && (
          <span className="flag agent">
            <AgentGlyph />
            {token.agentName}
          </span>
        )}
        <span className="t12 soft hp cut">
          {[team, words.scopes(made.scopes), words.until(day(made.expiresAt))].join(' · ')}
        </span>
      </header>
      <ol className="steps">
        <Step n={1}>
          <b className="b5">{words.copySecret}</b>
          <Secret text={shown} stored={stored} />
        </Step>
        <Step n={2}>
          <b className="b5">{words.addIt}</b>
          <Tabs label={words.client} tabs={tabs} chosen={tab} onChoose={(value) => setTab(value)}>
            <Settings tab={tab} secret={shown} stored={stored} />
          </Tabs>
        </Step>
        <li>
          <div className="stepn">3</div>
          <ConnectionStatus token={token} program={tab === 'other' ? words.yourClient : clients[tab].title} />
        </li>
      </ol>
      <footer className="row padx tokfoot">
        <span className="t12 soft grow">{stored ? words.lost : words.closing}</span>
        <button type="button" className="btn main" onClick={stored ? onDone : () => setStored(true)}>
          {stored ? done : words.iStoredIt}
        </button>
      </footer>
      {blocker.status === 'blocked' && (
        <Confirm
          title={words.leaveTitle}
          verb={words.leave}
          cancel={words.stay}
          onConfirm={blocker.proceed}
          onClose={blocker.reset}
        >
          <p>{words.leaveText}</p>
        </Confirm>
      )}
    </section>
  )
}

const Step = ({ n, children }: { n: number; children: ReactNode }) => (
  <li>
    <div className="stepn">{n}</div>
    <div className="stack">{children}</div>
  </li>
)

function Secret({ text, stored }: { text: string; stored: boolean }) {
  const source = useRef<HTMLElement>(null)
  return (
    <div className={stored ? 'secret stored' : 'secret'}>
      <code className="mono grow cut" ref={source}>
        {text}
      </code>
      {stored ? (
        <span className="row tight t12 soft">
          <Check className="i s14" aria-hidden />
          {words.stored}
        </span>
      ) : (
        <CopyButton text={text} source={source} name={words.secret} />
      )}
    </div>
  )
}

/** Without the secret, the settings are of no use elsewhere: Copy disappears with it. */
function Settings({ tab, secret, stored }: { tab: Tab; secret: string; stored: boolean }) {
  const source = useRef<HTMLElement>(null)
  const client = tab === 'other' ? anyClient : clients[tab]
  const text = client.command?.(location.origin, secret) ?? settingsText(client, client.http(location.origin, secret))
  return (
    <>
      <div className="code cmd">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
        <span tabIndex={0} ref={source}>
          {text}
        </span>
        {!stored && <CopyButton text={text} source={source} name={words.settings} />}
      </div>
      {tab !== 'other' && (
        <p className="t12 soft">
          {words.orConnect} <span className="mono ink">tutti connect {tab}</span>
        </p>
      )}
    </>
  )
}

/** Changes by itself: the event of the first use asks for the token again. */
function ConnectionStatus({ token, program }: { token: McpToken; program: string }) {
  const { firstUsedAt, client, tools } = token
  return (
    <div className={firstUsedAt ? 'conn ok' : 'conn'} role="status">
      {firstUsedAt ? <CircleCheck className="i s20" aria-hidden /> : <span className="waitmark" aria-hidden />}
      <div className="grow">
        <b className="b6">
          {firstUsedAt ? words.connected(client?.name ?? words.someProgram, tools.count) : words.waiting}
        </b>
        <p className="t12 soft">
          {firstUsedAt
            ? words.connectedText(client?.version, timeOfDay(firstUsedAt), tools.tokens)
            : words.waitingText(program)}
        </p>
      </div>
      <div className="connstaff">
        <svg className="staff" height="40" role="img" aria-label={firstUsedAt ? words.firstCall : words.nothingHeard}>
          {[6, 14, 22, 30].map((y) => (
            <line key={y} className="ln" x1="0" x2="100%" y1={y} y2={y} />
          ))}
          {firstUsedAt && <line className="call" x1="92%" x2="92%" y1="34" y2="39" />}
        </svg>
      </div>
    </div>
  )
}
