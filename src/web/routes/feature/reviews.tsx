/** What reviewers said, and a form for the one who may review it now. */
import { Check, Lock, RotateCcw } from 'lucide-react'
import { useState } from 'react'
import type { FeatureView } from '../../../features/workflow/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { TextArea } from '../../components/form/fields.tsx'
import { LockedButton } from '../../components/locked-button.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { day } from '../../lib/times.ts'
import type { FeatureActMutation } from './queries.ts'
import { waitsForTasks } from './track.ts'
import { words } from './words.ts'
import { actorParty } from './workflow-track.tsx'

interface Props {
  feature: FeatureView
  act: FeatureActMutation
  /** The feature waits for a verdict. */
  waiting: boolean
}

export function Reviews({ feature, act, waiting }: Props) {
  const { reviews, can } = feature
  if (reviews.length === 0 && !waiting) return null
  return (
    <section className="sheet pad" aria-labelledby="reviews">
      <header className="row">
        <h2 className="h2" id="reviews">
          {words.reviews}
        </h2>
        {waiting && <span className="end t12 soft">{words.needed}</span>}
      </header>
      {reviews.length === 0 && <p className="soft t13">{words.noReviews}</p>}
      {reviews.toReversed().map((review) => (
        <PastReview key={review.id} review={review} />
      ))}
      {waiting && can.review === true && <ReviewForm act={act} locked={waitsForTasks(feature)} />}
      {waiting && can.review !== true && (
        <p className="row tight t12 soft notallowed">
          <Lock className="i s14" aria-hidden />
          {can.review.detail}
        </p>
      )}
    </section>
  )
}

function PastReview({ review }: { review: FeatureView['reviews'][number] }) {
  const approved = review.verdict === 'approved'
  return (
    <div className="rev stack s1">
      <span className="row wrap">
        <Avatar party={actorParty(review.actor)} size="m" />
        <b className="b5">{review.actor.name}</b>
        <span className={approved ? 'flag good' : 'flag warn'}>
          {approved ? <Check className="i s12" aria-hidden /> : <RotateCcw className="i s12" aria-hidden />}
          {words.verdicts[review.verdict]}
        </span>
        <span className="end t12 soft">{day(review.createdAt)}</span>
      </span>
      {review.comments && <span className="t13 prewrap">{review.comments}</span>}
    </div>
  )
}

/** The comment stays until the server has taken the verdict. */
function ReviewForm({ act, locked }: { act: FeatureActMutation; locked: boolean }) {
  const [comments, setComments] = useState('')
  const say = (verdict: 'approved' | 'changes_requested') => {
    const comment = comments.trim() === '' ? {} : { comments: comments.trim() }
    act.mutate({ do: 'review', body: { verdict, ...comment } }, { onSuccess: () => setComments('') })
  }
  const failed = act.error && act.variables?.do === 'review' ? act.error : undefined
  return (
    <form className="stack rev" onSubmit={(event) => event.preventDefault()}>
      <TextArea label={words.comment} id="verdict" rows={3} maxLength={10_000} value={comments} onText={setComments} />
      {failed && <ProblemBox error={failed} />}
      {locked && (
        <p className="row tight t12 soft notallowed" id="open-tasks">
          <Lock className="i s14" aria-hidden />
          {words.openTasks}
        </p>
      )}
      <span className="row wrap">
        {locked ? (
          <LockedButton reason="open-tasks">{words.approve}</LockedButton>
        ) : (
          <button type="button" className="btn main" disabled={act.isPending} onClick={() => say('approved')}>
            {words.approve}
          </button>
        )}
        <button type="button" className="btn" disabled={act.isPending} onClick={() => say('changes_requested')}>
          {words.askForChanges}
        </button>
      </span>
    </form>
  )
}
