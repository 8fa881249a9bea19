import { type Http, on, respondCreated } from '../../http/context.ts'
import { id, object } from '../../schema.ts'
import {
  Issue,
  IssueCreate,
  IssuePage,
  IssuePatch,
  IssueQuery,
  ReportedIssue,
  ReportedIssuePage,
  ReportedIssueQuery,
} from './schema.ts'
import * as issues from './service.ts'

export const issueRoutes = (http: Http) =>
  http
    .get('/api/issues', ({ ctx, query }) => issues.list(ctx, query), {
      ...on(issues.list, 'Your reports about this service'),
      query: IssueQuery,
      response: IssuePage,
    })
    .post(
      '/api/issues',
      async ({ ctx, body, set }) => respondCreated(set, '/api/issues', await issues.create(ctx, body)),
      {
        ...on(issues.create, 'Report a problem with this service'),
        body: IssueCreate,
        response: { 201: Issue },
      },
    )
    .get('/api/admin/issues', ({ ctx, query }) => issues.listAll(ctx, query), {
      ...on(issues.listAll, 'Reports of all users'),
      query: ReportedIssueQuery,
      response: ReportedIssuePage,
    })
    .patch('/api/admin/issues/:id', ({ ctx, params, body }) => issues.update(ctx, { ...body, ...params }), {
      ...on(issues.update, 'Answer, rank or close a report'),
      params: object({ id: id() }),
      body: IssuePatch,
      response: ReportedIssue,
    })
