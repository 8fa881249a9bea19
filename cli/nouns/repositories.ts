import type {
  AgentsFile,
  AgentsFileMade,
  HostedPage,
  PullOpened,
  Repository,
  RepositoryItem,
} from '../../src/features/repositories/schema.ts'
import { pathTo, withQuery } from '../api/reference.ts'
import { paragraphLines, recordLines, safeLine } from '../terminal/output.ts'
import { timeAgo } from '../terminal/times.ts'
import { type CommandOutput, choice, flag, many, outputOf, reference, text, type Verb } from './noun.ts'
import { fetchPages, listOutput, paging, sorting } from './resource.ts'

const provider = choice('--provider <host>', ['github', 'gitea', 'gitlab'])
const target = choice('--target <program>', ['agents', 'claude', 'gemini', 'copilot', 'cursor'], 'agents')
const fullName = ({ owner, name }: Pick<RepositoryItem, 'owner' | 'name'>): string => `${owner}/${name}`

const repositoryOutput = (repo: Repository): CommandOutput =>
  outputOf(
    repo,
    ...recordLines({
      Repository: fullName(repo),
      Host: repo.provider,
      Address: repo.url,
      Status: repo.status,
      Problem: repo.error,
      Branch: repo.defaultBranch,
      Commit: repo.lastCommit && `${repo.lastCommit.sha.slice(0, 8)} ${repo.lastCommit.title}`,
      'Pull requests': repo.pullRequests.map((pull) => `#${pull.number} ${pull.title}`).join(', '),
      Synced: repo.syncedAt ? timeAgo(repo.syncedAt) : 'never',
      Id: repo.id,
    }),
  )
const pullRequestLine = (pull: PullOpened): string =>
  `${pull.existed ? 'This pull request was open already' : 'Opened pull request'}: ${safeLine(pull.url)}`

export const verbs: Verb[] = [
  {
    name: 'list',
    about: 'List connected repositories, last updated first',
    aliases: ['ls'],
    inProject: true,
    fields: [
      choice('--status <status>', ['pending', 'syncing', 'ready', 'error']),
      ...sorting('updatedAt', 'createdAt', 'name'),
      ...paging,
    ],
    examples: ['tutti repositories list', 'tutti repositories list --status error'],
    run: async ({ client, fields, inProject }) =>
      listOutput(
        await fetchPages<RepositoryItem>(client, '/api/repos', { ...fields, ...(await inProject()) }),
        [
          { title: 'Repository', of: fullName, wide: true },
          { title: 'Host', of: (r) => r.provider },
          { title: 'Status', of: (r) => r.status },
          { title: 'Branch', of: (r) => r.defaultBranch },
          { title: 'Synced', of: (r) => (r.syncedAt ? timeAgo(r.syncedAt) : 'never') },
        ],
        'No repositories. Connect one: tutti repositories create owner/name',
      ),
  },
  {
    name: 'available',
    about: 'List the repositories that your token gives access to at a code host',
    fields: [provider],
    examples: ['tutti repositories available --provider gitlab'],
    run: async ({ client, fields }) =>
      listOutput(
        await client.get<HostedPage>(withQuery('/api/repos/github', fields)),
        [
          { title: 'Repository', of: fullName, wide: true },
          { title: 'Private', of: (r) => (r.private ? 'yes' : 'no') },
          { title: 'Branch', of: (r) => r.defaultBranch },
        ],
        'No repositories.',
      ),
  },
  {
    name: 'show',
    args: '<repository>',
    about: 'Show a repository as of its last sync, by owner/name or id',
    examples: ['tutti repositories show tutti/tutti'],
    run: async ({ client, args }) => repositoryOutput(await client.get<Repository>(pathTo('/api/repos/:id', ...args))),
  },
  {
    name: 'create',
    args: '<repository>',
    about: 'Connect a repository: its address, or owner/name',
    aliases: ['connect'],
    inProject: true,
    fields: [provider],
    examples: ['tutti repositories create https://github.com/tutti/tutti'],
    run: async ({ client, args: [repo], fields, inProject }) =>
      repositoryOutput(await client.post<Repository>('/api/repos', { repo, ...fields, ...(await inProject()) })),
  },
  {
    name: 'sync',
    args: '<repository>',
    about: 'Fetch branches, the last commit and open pull requests, with your own token',
    examples: ['tutti repositories sync tutti/tutti'],
    run: async ({ client, args }) =>
      repositoryOutput(await client.post<Repository>(pathTo('/api/repos/:id/sync', ...args))),
  },
  {
    name: 'pull',
    args: '<repository> <title>',
    about: 'Open a pull request, with your own token',
    fields: [
      text('--head <branch>', 'pushed branch', { required: true }),
      text('--base <branch>', 'branch to merge into (default: the default branch)'),
      text('-d, --description <text>', 'description; "-" reads standard input'),
      many('--reviewer <user>', 'user name of a reviewer', 'reviewers'),
      reference('--feature <feature>', 'feature that the pull request belongs to', '/api/features', 'featureId'),
    ],
    examples: ['tutti repositories pull tutti/tutti "Lock the data folder" --head lock'],
    run: async ({ client, args: [repo, title], fields }) => {
      const pull = await client.post<PullOpened>(pathTo('/api/repos/:id/pulls', repo), { title, ...fields })
      return { ...outputOf(pull, pullRequestLine(pull)), note: pull.warning ? safeLine(pull.warning) : undefined }
    },
  },
  {
    name: 'agents-md',
    args: '[repository]',
    about: 'Print AGENTS.md or a similar file, generated from the records of a project',
    inProject: true,
    fields: [target, flag('--commit', 'open a pull request that adds the file to the repository')],
    examples: [
      'tutti repositories agents-md > AGENTS.md',
      'tutti repositories agents-md tutti/tutti --target claude --commit',
    ],
    run: async ({ client, args: [repo], fields, needProject, inProject }) => {
      if (repo === undefined) {
        const file = await client.get<AgentsFile>(
          withQuery(pathTo('/api/projects/:slug/agents-md', await needProject()), { target: fields.target }),
        )
        return outputOf(file, ...paragraphLines(file.content.trimEnd()))
      }
      const made = await client.post<AgentsFileMade>(pathTo('/api/repos/:id/agents-md', repo), {
        ...fields,
        ...(await inProject()),
      })
      if (!fields.commit) return outputOf(made, ...paragraphLines(made.content.trimEnd()))
      return outputOf(
        made,
        made.pullRequest ? pullRequestLine(made.pullRequest) : `${safeLine(made.path)} is up to date.`,
      )
    },
  },
  {
    name: 'delete',
    args: '<repository>',
    about: 'Remove a connected repository; it stays at its host',
    examples: ['tutti repositories delete tutti/tutti'],
    run: async ({ client, args }) =>
      outputOf(await client.request('DELETE', pathTo('/api/repos/:id', ...args)), `Removed ${args[0]}.`),
  },
]
