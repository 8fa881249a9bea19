import { defineEvent, number, text, texts } from '../../events/catalogue.ts'
import { stateName } from '../../events/words.ts'
import { array, nullable, optional } from '../../schema.ts'

const ofFeature = { kind: 'feature', live: true, line: 'gate' } as const
/** `concerns`: id of the assignee, or of the author; their open streams receive the event. */
const featureData = { title: text, status: text, version: number, concerns: array(nullable(text), 1) } as const
const moveData = { ...featureData, from: text, to: text } as const

export const featureCreated = defineEvent('feature.created', {
  ...ofFeature,
  description: 'A feature was created',
  data: featureData,
})
export const featureUpdated = defineEvent('feature.updated', {
  ...ofFeature,
  description: 'A feature changed',
  data: { ...featureData, fields: texts },
})
export const featureAdvanced = defineEvent('feature.advanced', {
  ...ofFeature,
  description: 'A feature passed a gate',
  data: { ...moveData, gate: optional(nullable(text)) },
  words: (what, { from, to }) => `moved ${what} from ${stateName(from)} to ${stateName(to)}`,
})
export const featureReviewed = defineEvent('feature.reviewed', {
  ...ofFeature,
  description: 'A feature was approved, or changes were requested',
  data: { ...moveData, gate: optional(nullable(text)), verdict: text },
  words: (what, { verdict }) => (verdict === 'approved' ? `approved ${what}` : `requested changes in ${what}`),
})
export const featureVerified = defineEvent('feature.verified', {
  ...ofFeature,
  description: 'A person checked evidence for a gate',
  data: { ...featureData, gate: text, evidenceId: text },
  words: (what, { gate }) => `verified evidence for ${stateName(gate)} of ${what}`,
})
export const featureOverridden = defineEvent('feature.overridden', {
  ...ofFeature,
  description: 'An admin moved a feature past its gate',
  data: { ...moveData, reason: text },
  words: (what, { from, to, reason }) =>
    `moved ${what} from ${stateName(from)} to ${stateName(to)} past its gate: ${reason}`,
})
export const featureDeleted = defineEvent('feature.deleted', {
  ...ofFeature,
  deletes: true,
  description: 'A feature was deleted',
  data: featureData,
})
export const featureRestored = defineEvent('feature.restored', {
  ...ofFeature,
  description: 'A feature was restored',
  data: featureData,
})
/** Emitted by a job. `from` and `to` are equal if the feature had already left the states after the gate. */
export const featureEvidenceMissing = defineEvent('feature.evidence_missing', {
  ...ofFeature,
  description: 'The code host does not have what evidence for a gate names, so the gate is open again',
  data: { ...moveData, gate: text, missing: texts },
  words: (what, { from, to, gate }) =>
    `did not find evidence for ${stateName(gate)} of ${what} at the code host${
      from === to ? '' : `, and moved it back from ${stateName(from)} to ${stateName(to)}`
    }`,
})
/** Emitted by a job, after the evidence is stored. */
export const featureObserved = defineEvent('feature.observed', {
  ...ofFeature,
  description: 'The code host confirmed evidence for a gate',
  data: { title: text, gate: text, seen: texts },
})
