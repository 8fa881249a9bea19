import { defineEvent, number, text, texts } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

const ofDecision = { kind: 'decision', live: true, line: 'note' } as const
const commonData = { title: text, status: text, version: number } as const

export const decisionLogged = defineEvent('decision.logged', {
  ...ofDecision,
  description: 'A decision was logged',
  data: commonData,
})
export const decisionUpdated = defineEvent('decision.updated', {
  ...ofDecision,
  description: 'A decision changed; `from` is its status before',
  data: { ...commonData, fields: texts, from: optional(text) },
})
export const decisionSuperseded = defineEvent('decision.superseded', {
  ...ofDecision,
  description: 'A decision was replaced by another',
  data: { ...commonData, by: text },
})
export const decisionCommented = defineEvent('decision.commented', {
  ...ofDecision,
  description: 'A person or agent commented on a decision',
  data: { ...commonData, commentId: optional(text) },
})
