/** The edits that the server refused after they had waited for the connection. */
import { TriangleAlert } from 'lucide-react'
import { words as common } from '../words.ts'
import { discard, tryAgain } from './queue.ts'
import { waitingEdits } from './waiting-edits.tsx'
import { words } from './words.ts'

export function RefusedEdits() {
  const refused = waitingEdits.use().filter(({ refusal }) => refusal !== undefined)
  if (refused.length === 0) return null
  return (
    <section className="problem" role="alert" aria-label={words.refused(refused.length)}>
      <TriangleAlert className="i" aria-hidden />
      <div className="grow stack">
        <b className="b6">{words.refused(refused.length)}</b>
        <ul className="stack">
          {refused.map(({ key, title, refusal, isFinal }) => (
            <li key={key} className="row wrap">
              <span className="grow">
                <b className="b5">{title}</b> {refusal}
              </span>
              <span className="row tight">
                {!isFinal && (
                  <button
                    type="button"
                    className="btn small"
                    aria-label={words.tryOne(title)}
                    onClick={() => tryAgain(key)}
                  >
                    {common.tryAgain}
                  </button>
                )}
                <button
                  type="button"
                  className="btn small quiet"
                  aria-label={words.discardOne(title)}
                  onClick={() => discard(new Set([key]))}
                >
                  {words.discard}
                </button>
              </span>
            </li>
          ))}
        </ul>
      </div>
    </section>
  )
}
