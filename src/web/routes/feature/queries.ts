import { queryOptions } from '@tanstack/react-query'
import type {
  FeatureAdvance,
  FeatureOverride,
  FeaturePatch,
  FeatureReview,
  FeatureView,
} from '../../../features/workflow/schema.ts'
import { activities, features, ok, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const featureQuery = (id: string) =>
  queryOptions({ queryKey: ['feature', id], queryFn: () => ok(features.features({ id }).get()) })

/** What happened to the feature, the newest first. */
export const featureHistoryQuery = (id: string) =>
  queryOptions({
    queryKey: ['feature', id, 'history'],
    queryFn: async () => (await ok(activities.activities.get({ query: { subjectId: id, limit: 50 } }))).items,
  })

type FeatureAct =
  | { do: 'advance'; body: FeatureAdvance }
  | { do: 'review'; body: FeatureReview }
  | { do: 'override'; body: FeatureOverride }
  | { do: 'update'; body: FeaturePatch }
  | { do: 'verify'; evidenceId: string }
  | { do: 'remove' }

function sendFeatureAct(feature: FeatureView, act: FeatureAct): Promise<unknown> {
  const one = features.features({ id: feature.id })
  const versioned = writeOptions(feature.version)
  switch (act.do) {
    case 'advance':
      return ok(one.advance.post(act.body, versioned))
    case 'review':
      return ok(one.reviews.post(act.body, versioned))
    case 'override':
      return ok(one.override.post(act.body, versioned))
    case 'update':
      return ok(one.patch(act.body, versioned))
    case 'verify':
      return ok(one.evidence({ evidenceId: act.evidenceId }).verify.post({}, writeOptions()))
    case 'remove':
      return ok(features.projects({ slug: feature.projectId }).features({ id: feature.id }).delete({}, versioned))
  }
}

/** What may be done with a feature. Each waits for the server: a gate is for the server to open. */
export const useFeatureAct = (feature: FeatureView) =>
  useWrite((act: FeatureAct) => sendFeatureAct(feature, act), ['feature'], ['features'])
export type FeatureActMutation = ReturnType<typeof useFeatureAct>

/** Brings back a feature that was deleted. */
export const restoreFeature = (id: string) => ok(features.features({ id }).restore.post({}, writeOptions()))
