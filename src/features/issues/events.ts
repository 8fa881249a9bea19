import { define, text, texts } from '../../events/catalogue.ts'

const ofIssue = { kind: 'issue', told: 'access' } as const

export const issueCreated = define('issue.created', {
  ...ofIssue,
  says: 'Somebody reported a problem to the operators',
  data: { title: text, priority: text },
})
export const issueUpdated = define('issue.updated', {
  ...ofIssue,
  says: 'A report was changed or answered',
  data: { fields: texts, status: text },
})
