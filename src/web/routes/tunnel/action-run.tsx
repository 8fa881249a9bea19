/** An action while it runs and after: its state, its output as it comes, its result. */
import { useEffect, useRef } from 'react'
import { Section } from '../../components/section.tsx'
import { toast } from '../../components/toasts.tsx'
import { isActionEnded, useActionRun, useRunAction } from './queries.ts'
import { ActionStateFlag } from './state-flag.tsx'
import { actionName, words } from './words.ts'

/** A long output scrolls by itself. */
const tall = { maxBlockSize: '50vh', overflowY: 'auto' } as const

export function ActionRun({ tunnelId, actionId }: { tunnelId: string; actionId: string }) {
  const { action, output } = useActionRun(tunnelId, actionId)
  const act = useRunAction(tunnelId)
  const end = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the output.
  useEffect(() => {
    end.current?.scrollTo(0, end.current.scrollHeight)
  }, [output])
  if (!action) return null
  const { state, error, result, durationMs } = action
  const onError = (failed: Error) => toast({ title: words.failed, text: failed.message, bad: true })
  return (
    <Section
      title={actionName(action)}
      n={<ActionStateFlag state={state} />}
      end={durationMs !== null && words.ms(durationMs)}
    >
      <div className="sheet pad stack" role="status">
        {action.outputCut && <p className="soft t12">{words.cut}</p>}
        {output ? (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
          <section ref={end} className="code" style={tall} tabIndex={0} aria-label={words.output}>
            {output}
          </section>
        ) : (
          !isActionEnded(state) && <p className="soft">{words.noOutput}</p>
        )}
        {error && <p className={state === 'succeeded' ? '' : 'bad'}>{error}</p>}
        {result !== null && action.type !== 'run_command' && (
          <section className="code" style={tall} aria-label={words.result}>
            {JSON.stringify(result, null, 2)}
          </section>
        )}
        {!isActionEnded(state) && action.can?.cancel === true && (
          <div>
            <button
              type="button"
              className="btn small danger"
              disabled={act.isPending}
              onClick={() => act.mutate({ type: 'cancel', params: { actionId } }, { onError })}
            >
              {words.cancel}
            </button>
          </div>
        )}
      </div>
    </Section>
  )
}
