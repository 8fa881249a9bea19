import { type Http, on } from '../../http/context.ts'
import {
  TrackedIssuePage,
  TrackedIssueQuery,
  TrackedRepositoryList,
  TrackedRepositoryQuery,
  TrackerSync,
  TrackerSynced,
} from './schema.ts'
import * as tracker from './service.ts'

/** Statuses for a code host that failed or took too long. */
const outside = { answers: [502, 504] }

export const trackerRoutes = (http: Http) =>
  http
    .get('/api/admin/github/repos', ({ ctx, query }) => tracker.listRepositories(ctx, query), {
      ...on(tracker.listRepositories, 'Repositories whose issues are mirrored, or those that could be', outside),
      query: TrackedRepositoryQuery,
      response: TrackedRepositoryList,
    })
    .get('/api/admin/github/issues', ({ ctx, query }) => tracker.listIssues(ctx, query), {
      ...on(tracker.listIssues, 'Mirrored issues of the code host'),
      query: TrackedIssueQuery,
      response: TrackedIssuePage,
    })
    .post('/api/admin/github/sync', ({ ctx, body }) => tracker.syncIssues(ctx, body), {
      ...on(tracker.syncIssues, 'Mirror the issues of the code host now', outside),
      body: TrackerSync,
      response: TrackerSynced,
    })
