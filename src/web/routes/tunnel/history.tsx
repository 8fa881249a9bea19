/** Who ran what on the machine, and what became of it. */
import { useQuery } from '@tanstack/react-query'
import type { TunnelAction } from '../../../features/tunnels/actions/action-schema.ts'
import { Section } from '../../components/section.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { ago, dayAndTime } from '../../lib/times.ts'
import { actionHistoryQuery } from './queries.ts'
import { ActionStateFlag } from './state-flag.tsx'
import { actionName, words } from './words.ts'

export function ActionHistory({ tunnelId, onShow }: { tunnelId: string; onShow(actionId: string): void }) {
  const { data, error } = useQuery(actionHistoryQuery(tunnelId))
  return (
    <Section title={words.history}>
      <div className="stack">
        <p className="soft t12">{words.historyAbout}</p>
        {error && !data && <ProblemBox error={error} />}
        {data?.items.length === 0 && <p className="soft">{words.noHistory}</p>}
        {data && data.items.length > 0 && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
          <section className="sheet tbl roll" tabIndex={0} aria-label={words.history}>
            <table>
              <tbody>
                {data.items.map((action) => (
                  <Row key={action.id} action={action} onShow={onShow} />
                ))}
              </tbody>
            </table>
          </section>
        )}
      </div>
    </Section>
  )
}

function Row({ action, onShow }: { action: TunnelAction; onShow(actionId: string): void }) {
  const name = actionName(action)
  return (
    <tr>
      <td>
        <button type="button" className="link" aria-label={words.show(name)} onClick={() => onShow(action.id)}>
          {name}
        </button>
      </td>
      <td className="mono t12 hp">{givenOf(action)}</td>
      <td>
        <ActionStateFlag state={action.state} />
      </td>
      <td className="t12 soft nowrap hp">{action.durationMs === null ? '' : words.ms(action.durationMs)}</td>
      <td>{action.caller.name}</td>
      <td className="t12 soft nowrap">
        <time dateTime={action.createdAt} title={dayAndTime(action.createdAt)}>
          {words.since(ago(action.createdAt))}
        </time>
      </td>
    </tr>
  )
}

/** Returns the parameters in one line: `branch=main`. */
function givenOf({ type, params }: TunnelAction): string {
  const given = type === 'run_command' ? params.params : type === 'call_tool' ? params.arguments : undefined
  if (typeof given !== 'object' || given === null) return ''
  return Object.entries(given)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
    .slice(0, 120)
}
