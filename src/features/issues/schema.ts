import {
  email,
  id,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  partial,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'

const heading = title(200, { example: 'Search finds nothing in notes' })
const description = title(20_000, { example: 'I search for a word that is in the title, and the list is empty.' })
const priority = oneOf(['critical', 'high', 'medium', 'low'])
const status = oneOf(['open', 'in_review', 'closed'])
const answer = text(20_000, { example: 'Fixed in the update of today.' })

export const Issue = object({
  ...recordFields,
  title: heading,
  description,
  priority,
  status,
  answer: nullable(answer),
  answeredAt: nullable(instant()),
})
export type Issue = Static<typeof Issue>

export const IssueCreate = object({
  title: heading,
  description,
  priority: optional(oneOf(priority.enum, { description: 'Default: medium' })),
})
export type IssueCreate = Static<typeof IssueCreate>

const filters = { ...paging('createdAt', 'updatedAt'), status: optional(status) }
export const IssueQuery = object(filters)
export type IssueQuery = Static<typeof IssueQuery>
export const IssuePage = pageOf(Issue)
export type IssuePage = Static<typeof IssuePage>

/** A report with its reporter, for administrators. */
export const ReportedIssue = object({
  ...Issue.properties,
  reporter: object({
    id: id(),
    name: text(100, { example: 'Ada Lovelace' }),
    handle: text(63, { example: 'ada' }),
    email: email(),
  }),
  answeredById: nullable(id()),
})
export type ReportedIssue = Static<typeof ReportedIssue>

export const ReportedIssueQuery = object({ ...filters, priority: optional(priority) })
export type ReportedIssueQuery = Static<typeof ReportedIssueQuery>
export const ReportedIssuePage = pageOf(ReportedIssue)
export type ReportedIssuePage = Static<typeof ReportedIssuePage>

export const IssuePatch = partial(object({ status, priority, answer: nullable(answer) }))
export type IssuePatch = Static<typeof IssuePatch>
