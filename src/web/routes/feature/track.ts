/** The path of a feature through the workflow of its project, as the page draws it. */
import type { FeatureView, SubmittedEvidence } from '../../../features/workflow/schema.ts'

type Workflow = FeatureView['workflow']

export interface TrackState {
  state: string
  /** Whether the feature has passed this state, is in it, or has yet to reach it. */
  place: 'past' | 'now' | 'ahead'
  /** The gate out of this state; null: no gate is needed, undefined: there is no next state. */
  gate: string | null | undefined
  skipped: boolean
  evidence: SubmittedEvidence[]
}

const REVIEW = 'review'

/** The step that leads on from a state: an advance, or an approval. */
const nextTransition = ({ transitions }: Workflow, state: string) =>
  transitions.find(({ from, by = 'advance' }) => from === state && by === 'advance') ??
  transitions.find(({ from, by }) => from === state && by === 'approved')

/** The states from the first to one that closes a feature. */
function mainPath(workflow: Workflow): string[] {
  const way: string[] = []
  let state: string | undefined = workflow.initial
  while (state !== undefined && !way.includes(state)) {
    way.push(state)
    state = nextTransition(workflow, state)?.to
  }
  return way
}

/** The way that is drawn: with the state that the feature is in, even if only a verdict leads there. */
function drawnPath({ workflow, status }: FeatureView): string[] {
  const way = mainPath(workflow)
  if (way.includes(status)) return way
  const next = way.indexOf(nextTransition(workflow, status)?.to ?? '')
  return next < 0 ? [...way, status] : way.toSpliced(next, 0, status)
}

/** Evidence from before the last request for changes no longer counts. */
export function currentEvidence({ evidence, reviews }: FeatureView): SubmittedEvidence[] {
  const last = reviews.findLast(({ verdict }) => verdict === 'changes_requested')
  return last ? evidence.filter(({ createdAt }) => createdAt > last.createdAt) : evidence
}

export function trackStates(feature: FeatureView): TrackState[] {
  const { workflow, status, kind } = feature
  const way = drawnPath(feature)
  const at = way.indexOf(status)
  const shown = currentEvidence(feature)
  return way.map((state, place) => {
    const step = nextTransition(workflow, state)
    const gate = step && (step.by === 'approved' ? REVIEW : (step.gate ?? null))
    return {
      state,
      place: place < at ? 'past' : place === at ? 'now' : 'ahead',
      gate,
      skipped: workflow.gates?.find(({ name }) => name === gate)?.skipFor?.includes(kind) ?? false,
      evidence: shown.filter((one) => one.gate === gate && (one.level === 'missing' || one.reopenedAt === null)),
    }
  })
}

/** Whether the next step waits until tasks of the feature are done or cancelled. */
export const waitsForTasks = ({ next }: FeatureView): boolean =>
  next?.missing.some(({ item }) => /^tasks?\b/.test(item)) ?? false

/** The name of the gate that the feature has to pass next. */
export const nextGate = (feature: FeatureView): string | null | undefined =>
  trackStates(feature).find(({ place }) => place === 'now')?.gate
