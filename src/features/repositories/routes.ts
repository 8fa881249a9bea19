import { type Http, on, respondCreated } from '../../http/context.ts'
import { Deleted, object, text } from '../../schema.ts'
import { ProjectRef } from '../projects/schema.ts'
import * as agents from './agents.ts'
import * as pulls from './pulls.ts'
import {
  AgentsFile,
  AgentsFileCreate,
  AgentsFileMade,
  AgentsFileQuery,
  HostedPage,
  HostedQuery,
  PullCreate,
  PullOpened,
  Repository,
  RepositoryCreate,
  RepositoryDetail,
  RepositoryPage,
  RepositoryQuery,
} from './schema.ts'
import * as repositories from './service.ts'
import { sync } from './sync.ts'

const byId = object({
  id: text(300, {
    minLength: 1,
    description: 'Id, unique id prefix or owner/name',
    example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10',
  }),
})
/** Statuses for a code host that failed or took too long. */
const upstream = { answers: [502, 504] }

export const repositoryRoutes = (http: Http) =>
  http
    .get('/api/repos/github', ({ ctx, query }) => repositories.listHosted(ctx, query), {
      ...on(repositories.listHosted, 'List the repositories that your token gives access to at a code host', upstream),
      query: HostedQuery,
      response: HostedPage,
    })
    .get('/api/repos', ({ ctx, query }) => repositories.list(ctx, query), {
      ...on(repositories.list, 'List connected repositories of a project or the current team'),
      query: RepositoryQuery,
      response: RepositoryPage,
    })
    .post(
      '/api/repos',
      async ({ ctx, body: { projectId, ...body }, set }) =>
        respondCreated(set, '/api/repos', await repositories.connect(ctx, { ...body, project: projectId })),
      {
        ...on(repositories.connect, 'Connect a repository', upstream),
        body: RepositoryCreate,
        response: { 201: Repository },
      },
    )
    .get('/api/repos/:id', ({ ctx, params }) => repositories.get(ctx, { ref: params.id }), {
      ...on(repositories.get, 'Get a connected repository as of its last sync'),
      params: byId,
      response: RepositoryDetail,
    })
    .delete('/api/repos/:id', ({ ctx, params }) => repositories.remove(ctx, { ref: params.id }), {
      ...on(repositories.remove, 'Remove a connected repository; it stays at its host'),
      params: byId,
      response: Deleted,
    })
    .post('/api/repos/:id/sync', ({ ctx, params }) => sync(ctx, { ref: params.id }), {
      ...on(
        sync,
        'Fetch branches, last commit and open pull requests from the code host, with your own token',
        upstream,
      ),
      params: byId,
      response: Repository,
    })
    .post(
      '/api/repos/:id/pulls',
      ({ ctx, params, body: { featureId, ...body } }) =>
        pulls.create(ctx, { ...body, ref: params.id, feature: featureId }),
      {
        ...on(pulls.create, 'Open a pull request at the code host, with your own token', upstream),
        params: byId,
        body: PullCreate,
        response: PullOpened,
      },
    )
    .post(
      '/api/repos/:id/agents-md',
      ({ ctx, params, body: { projectId, ...body } }) =>
        agents.generate(ctx, { ...body, repo: params.id, project: projectId }),
      {
        ...on(
          agents.generate,
          'Generate AGENTS.md or a similar file for a project, and optionally open a pull request',
          upstream,
        ),
        params: byId,
        body: AgentsFileCreate,
        response: AgentsFileMade,
      },
    )
    .get(
      '/api/projects/:slug/agents-md',
      ({ ctx, params, query }) => agents.preview(ctx, { ...query, project: params.slug }),
      {
        ...on(agents.preview, 'Get AGENTS.md or a similar file, generated from the records of a project'),
        params: ProjectRef,
        query: AgentsFileQuery,
        response: AgentsFile,
      },
    )
