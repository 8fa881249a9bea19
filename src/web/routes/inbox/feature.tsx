import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FeatureReview, FeatureView } from '../../../features/workflow/schema.ts'
import { features, ok, writeOptions } from '../../api.ts'
import { Avatar } from '../../components/avatar.tsx'
import { type CommentItem, CommentList } from '../../components/comments.tsx'
import { EvidenceGlyph, EvidenceWord } from '../../components/evidence.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { Kbd } from '../../components/status-bar.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { toast } from '../../components/toasts.tsx'
import { dayAndTime } from '../../lib/times.ts'
import { keyLabels, useKey } from '../../shortcuts.ts'
import { featureQuery } from '../feature/queries.ts'
import { currentEvidence } from '../feature/track.ts'
import { actorParty } from '../feature/workflow-track.tsx'
import { PreviewHeading } from './heading.tsx'
import { AnswerField, LoadedRecord, type PreviewProps } from './preview-parts.tsx'
import { words } from './words.ts'

export const FeaturePreview = ({ notification, id, onSettled }: PreviewProps) => (
  <LoadedRecord found={useQuery(featureQuery(id))}>
    {(feature) => (
      <>
        <div className="inbody stack s4">
          <PreviewHeading notification={notification} title={feature.title} />
          {feature.description && <Markdown text={feature.description} />}
          <Evidence feature={feature} />
          <CommentList remarks={feature.reviews.map(remarkOf)} />
        </div>
        {feature.can.review === true && <Verdict feature={feature} onSettled={onSettled} />}
      </>
    )}
  </LoadedRecord>
)

const remarkOf = ({ id, actor, verdict, comments, createdAt }: FeatureView['reviews'][number]): CommentItem => ({
  id,
  author: actorParty(actor),
  body: comments ?? '',
  createdAt,
  flag:
    verdict === 'approved' ? (
      <span className="flag good">{words.approved}</span>
    ) : (
      <span className="flag warn">{words.changesAsked}</span>
    ),
})

function Evidence({ feature }: { feature: FeatureView }) {
  const shown = currentEvidence(feature)
  if (shown.length === 0) return null
  return (
    <section className="sheet pad">
      <header className="row">
        <h3 className="h2">{words.evidence}</h3>
        <span className="soft t12">{words.submitted(shown.length)}</span>
      </header>
      <ol className="trail">
        {shown.map(({ id, evidence, level, actor, createdAt }) => (
          <li key={id} className="ev">
            <EvidenceGlyph level={level} />
            <span>{evidence.summary ?? Object.values(evidence).flat().join(', ')}</span>
            <EvidenceWord level={level} />
            <span className="what">
              <Avatar party={actorParty(actor)} />
              <span>{actor.name}</span>
              <span>{dayAndTime(createdAt)}</span>
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}

function Verdict({ feature, onSettled }: { feature: FeatureView; onSettled(): void }) {
  const cache = useQueryClient()
  const [text, setText] = useState('')
  const review = useMutation({
    mutationFn: (body: FeatureReview) =>
      ok(features.features({ id: feature.id }).reviews.post(body, writeOptions(feature.version))),
    onSuccess: (_, { verdict }) => {
      toast({ title: verdict === 'approved' ? words.approved : words.changesAsked, text: feature.title })
      onSettled()
    },
    onSettled: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: ['feature'] }),
        cache.invalidateQueries({ queryKey: ['features'] }),
        cache.invalidateQueries({ queryKey: ['notifications'] }),
      ]),
  })
  const say = (verdict: FeatureReview['verdict']) => {
    if (!review.isPending) review.mutate({ verdict, ...(text.trim() !== '' && { comments: text.trim() }) })
  }
  useKey('$mod+Enter', () => say('approved'), { label: words.approve, whileTyping: true })
  return (
    <footer className="inact">
      {review.error && <ProblemBox error={review.error} />}
      <AnswerField label={words.sayWhy} text={text} onText={setText} onSend={() => undefined} />
      <button type="button" className="btn" disabled={review.isPending} onClick={() => say('changes_requested')}>
        {words.askForChanges}
      </button>
      <button type="button" className="btn main" disabled={review.isPending} onClick={() => say('approved')}>
        {words.approve}
        {keyLabels('$mod+Enter').map((cap) => (
          <Kbd key={cap}>{cap}</Kbd>
        ))}
      </button>
    </footer>
  )
}
