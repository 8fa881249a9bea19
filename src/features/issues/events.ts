import { define, text, texts } from '../../events/catalogue.ts'

const ofIssue = { kind: 'issue', told: 'access' } as const

export const issueCreated = define('issue.created', {
  ...ofIssue,
  says: 'A user reported a problem to the administrators',
  data: { title: text, priority: text },
})
export const issueUpdated = define('issue.updated', {
  ...ofIssue,
  says: 'An administrator changed or answered a report',
  data: { fields: texts, status: text },
})
