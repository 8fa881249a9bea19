import { define, number, text, texts } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

const ofDecision = { kind: 'decision', live: true, line: 'note' } as const
const shown = { title: text, status: text, version: number } as const

export const decisionLogged = define('decision.logged', {
  ...ofDecision,
  description: 'A decision was logged',
  data: shown,
})
export const decisionUpdated = define('decision.updated', {
  ...ofDecision,
  description: 'A decision changed; `from` is its status before',
  data: { ...shown, fields: texts, from: optional(text) },
})
export const decisionSuperseded = define('decision.superseded', {
  ...ofDecision,
  description: 'A decision was replaced by another',
  data: { ...shown, by: text },
})
export const decisionCommented = define('decision.commented', {
  ...ofDecision,
  description: 'A person or agent commented on a decision',
  data: { ...shown, commentId: optional(text) },
})
