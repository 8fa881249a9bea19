import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { DecisionDetail } from '../../../features/decisions/schema.ts'
import { decisions, ok, writeOptions } from '../../api.ts'
import { CommentList } from '../../components/comments.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { toast } from '../../components/toasts.tsx'
import { decisionQuery } from '../decision/queries.ts'
import { PreviewHeading } from './heading.tsx'
import { AnswerField, LoadedRecord, type PreviewProps } from './preview-parts.tsx'
import { words } from './words.ts'

export const DecisionPreview = ({ notification, id, onSettled }: PreviewProps) => (
  <LoadedRecord found={useQuery(decisionQuery(id))}>
    {(decision) => (
      <>
        <div className="inbody stack s4">
          <PreviewHeading notification={notification} title={decision.title} />
          {decision.context && <Markdown text={decision.context} />}
          <section className="sheet pad">
            <Markdown text={decision.decision} />
          </section>
          {decision.alternatives.length > 0 && (
            <section className="stack">
              <h3 className="h2">{words.options}</h3>
              <ul className="stack s1">
                {decision.alternatives.map(({ option, cons }) => (
                  <li key={option} className="t13">
                    {option} {cons && <span className="soft">{cons}</span>}
                  </li>
                ))}
              </ul>
            </section>
          )}
          <CommentList remarks={decision.discussion} />
        </div>
        <Verdict decision={decision} onSettled={onSettled} />
      </>
    )}
  </LoadedRecord>
)

type Verdict = { status: 'accepted' | 'rejected'; body: string } | { status?: undefined; body: string }

function Verdict({ decision, onSettled }: { decision: DecisionDetail; onSettled(): void }) {
  const cache = useQueryClient()
  const [text, setText] = useState('')
  const one = decisions.decisions({ id: decision.id })
  const act = useMutation({
    mutationFn: async ({ status, body }: Verdict) => {
      if (body !== '') await ok(one.comments.post({ body }, writeOptions()))
      if (status) await ok(one.patch({ status }, writeOptions(decision.version)))
    },
    onSuccess: (_, { status }) => {
      setText('')
      if (!status) return
      toast({ title: status === 'accepted' ? words.accepted : words.rejected, text: decision.title })
      onSettled()
    },
    onSettled: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: ['decision'] }),
        cache.invalidateQueries({ queryKey: ['decisions'] }),
        cache.invalidateQueries({ queryKey: ['notifications'] }),
      ]),
  })
  if (decision.can?.comment !== true) return null
  const body = text.trim()
  const decides = decision.status === 'proposed' && decision.can.update === true
  const comment = () => {
    if (body !== '' && !act.isPending) act.mutate({ body })
  }
  return (
    <footer className="inact">
      {act.error && <ProblemBox error={act.error} />}
      <AnswerField label={words.sayWhy} text={text} onText={setText} onSend={comment} />
      {decides ? (
        <>
          <button
            type="button"
            className="btn"
            disabled={act.isPending}
            onClick={() => act.mutate({ status: 'rejected', body })}
          >
            {words.reject}
          </button>
          <button
            type="button"
            className="btn main"
            disabled={act.isPending}
            onClick={() => act.mutate({ status: 'accepted', body })}
          >
            {words.accept}
          </button>
        </>
      ) : (
        <button type="button" className="btn main" disabled={body === '' || act.isPending} onClick={comment}>
          {words.comment}
        </button>
      )}
    </footer>
  )
}
