import { feature, listing, project, repo } from '../../mcp/arguments.ts'
import { pick, tool } from '../../mcp/tool.ts'
import { codeHosts } from '../../outside/codehosts/schema.ts'
import { array, bool, object, oneOf, optional, text, title } from '../../schema.ts'
import * as agents from './agents.ts'
import * as pulls from './pulls.ts'
import { type RepositoryItem, targets } from './schema.ts'
import * as repositories from './service.ts'
import { sync } from './sync.ts'

const item = ({ owner, name, ...repository }: RepositoryItem) => ({
  repo: `${owner}/${name}`,
  ...pick(repository, 'url', 'projectId', 'defaultBranch', 'status', 'error', 'createdById'),
})

export const repositoryTools = [
  tool({
    name: 'connect_repo',
    title: 'Connect repo',
    description: 'Connect a code repository, with your own token for its host.',
    toolset: 'code',
    input: object({
      repo,
      project: optional(project),
      provider: optional(oneOf(codeHosts)),
    }),
    action: repositories.connect,
    with: (input) => input,
    show: item,
  }),
  tool({
    name: 'create_pr',
    title: 'Create PR',
    description: 'Open a pull request for a pushed branch; if one is open already, returns that.',
    toolset: 'code',
    input: object({
      repo,
      title: title(200, { example: 'Lock the data folder' }),
      head: text(250, { minLength: 1, description: 'Branch', example: 'lock' }),
      base: optional(text(250)),
      description: optional(text(50_000)),
      reviewers: optional(array(text(100), 15, { description: 'User names at the host' })),
      feature: optional(feature),
    }),
    action: pulls.create,
    with: ({ repo, ...rest }) => ({ ref: repo, ...rest }),
    show: (pull) => pick(pull, 'number', 'url', 'existed', 'warning'),
  }),
  tool({
    name: 'generate_agents_md',
    title: 'Generate agents file',
    description:
      'Generate the file that tells agents how to work in a project, from its records. commit opens a pull request.',
    toolset: 'code',
    input: object({
      repo: optional(repo),
      project: optional(project),
      target: optional(oneOf(targets)),
      commit: optional(bool()),
    }),
    action: agents.generate,
    with: (input) => input,
  }),
  tool({
    name: 'list_repos',
    title: 'List repos',
    description: 'List connected repositories.',
    toolset: 'code',
    input: object({ project: optional(project), limit: listing.limit }),
    action: repositories.list,
    narrowed: true,
    with: ({ project, ...input }) => ({ limit: 20, ...input, projectId: project, mustExist: true, total: true }),
    show: ({ items, ...page }) => ({ items: items.map(item), ...page }),
  }),
  tool({
    name: 'sync_repo',
    title: 'Sync repo',
    description: 'Fetch branches, last commit and open pull requests of a repository from its host.',
    toolset: 'code',
    input: object({ repo }),
    action: sync,
    with: ({ repo }) => ({ ref: repo }),
    show: ({ branches, lastCommit, pullRequests, ...repository }) => ({
      ...item(repository),
      branches,
      lastCommit,
      pullRequests,
    }),
  }),
]
