import { defineEvent, text, texts } from '../../events/catalogue.ts'

const ofIssue = { kind: 'issue', feed: 'access' } as const

export const issueCreated = defineEvent('issue.created', {
  ...ofIssue,
  description: 'A user reported a problem to the administrators',
  data: { title: text, priority: text },
  words: (_, { title }) => `reported “${title}”`,
})
export const issueUpdated = defineEvent('issue.updated', {
  ...ofIssue,
  description: 'An administrator changed or answered a report',
  data: { fields: texts, status: text },
  words: (_, { fields }) => `changed ${Array.isArray(fields) ? `${fields.join(', ')} of ` : ''}a report`,
})
