import { createHash } from 'node:crypto'
import { type Ctx, flow, read } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { invalid } from '../../errors.ts'
import * as decisions from '../decisions/service.ts'
import * as notes from '../notes/service.ts'
import { projectOf } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import type { Project } from '../projects/schema.ts'
import { workflowOf } from '../projects/workflow/workflow.ts'
import * as skills from '../skills/service.ts'
import * as specs from '../specs/service.ts'
import { agentsText, mergeGeneratedText, targetPaths } from './agents-text.ts'
import { openPullRequest, openRemoteToWrite } from './pulls.ts'
import { findRepository, findWritableRepository, type Row } from './rows.ts'
import type { AgentsFile, AgentsFileMade, PullOpened, Target } from './schema.ts'
import { list } from './service.ts'

const TAG = 'agents'
const OPENING = 'Opening a pull request'
const [DECISIONS, SPECS, SKILLS, NOTES] = [50, 50, 50, 10]
/** Oldest first: later entries go to the end, so that a diff is easy to read. */
const oldestFirst = { sort: 'createdAt', order: 'asc' } as const

/** Calls the list action of each resource, so that a credential without access to decisions gets none. */
async function writeAgentsText(ctx: Ctx, project: Project): Promise<string> {
  const projectId = project.id
  const decided = await decisions.list(ctx, { projectId, status: 'accepted', limit: DECISIONS, ...oldestFirst })
  const specified = await specs.list(ctx, { projectId, status: 'approved', limit: SPECS, ...oldestFirst })
  const known = await skills.listInTeam(ctx, { limit: SKILLS, sort: 'name', order: 'asc' })
  const tagged = await notes.list(ctx, { projectId, tag: TAG, limit: NOTES, ...oldestFirst })
  // Personal notes stay private, whatever their tag.
  const shared = tagged.items.filter(({ scope }) => scope !== 'personal')
  return agentsText({
    url: ctx.app.url,
    project,
    workflow: workflowOf(project),
    decisions: decided.items,
    specs: specified.items,
    skills: known.items.filter(({ organizationId }) => organizationId === project.organizationId),
    notes: await Promise.all(shared.map(({ id }) => notes.get(ctx, { ref: id }))),
  })
}

export const preview = read(
  'repositories.agentsFile',
  member('repos:read'),
  async (ctx, { project, target = 'agents' }: { project: string; target?: Target }): Promise<AgentsFile> => ({
    target,
    path: targetPaths[target],
    content: mergeGeneratedText(
      undefined,
      await writeAgentsText(ctx, await projects.findProject(ctx, project)),
      target,
    ),
  }),
)

interface Generate {
  repo?: string
  project?: string
  target?: Target
  commit?: boolean
}

export const generate = flow(
  'repositories.generateAgentsFile',
  member('repos:write'),
  async (ctx, { repo, project: ref, target = 'agents', commit = false }: Generate): Promise<AgentsFileMade> => {
    const named =
      repo === undefined
        ? undefined
        : await (commit ? findWritableRepository(ctx, repo, OPENING) : findRepository(ctx, repo))
    const project = await projectOf(ctx, ref ?? named?.projectId ?? undefined)
    if (!project)
      throw invalid('/project', 'Specify the project to generate the file from: its id, slug or key.', 'required')
    const text = await writeAgentsText(ctx, project)
    const made = { target, path: targetPaths[target] }
    if (!commit)
      return { ...made, content: mergeGeneratedText(undefined, text, target), pullRequest: null, unchanged: false }
    return { ...made, ...(await proposeFile(ctx, named ?? (await findOnlyRepository(ctx, project)), text, target)) }
  },
  { outside: true },
)

async function findOnlyRepository(ctx: Ctx, { id }: Project): Promise<Row> {
  const { items } = await list(ctx, { projectId: id, limit: 2 })
  const [first, second] = items
  if (!first)
    throw invalid('/repo', 'The project has no repository yet. Connect one first.', 'required', [
      { tool: 'connect_repo', route: 'POST /api/repos' },
    ])
  if (second)
    throw invalid('/repo', 'The project has several repositories. Specify one of them.', 'required', [
      { tool: 'list_repos', route: 'GET /api/repos' },
    ])
  return findWritableRepository(ctx, first.id, OPENING)
}

type Proposed = Pick<AgentsFileMade, 'content' | 'unchanged'> & { pullRequest: PullOpened | null }

/** The branch name is a hash of the content, so equal requests open one pull request. No existing branch is moved. */
async function proposeFile(ctx: Ctx, repository: Row, text: string, target: Target): Promise<Proposed> {
  const remote = await openRemoteToWrite(ctx, repository)
  const path = targetPaths[target]
  const base = (await remote.facts()).defaultBranch
  if (!base) throw invalid('/repo', 'The repository is empty. Push a first branch before you open pull requests.')
  const there = await remote.file(path, base)
  const content = mergeGeneratedText(there?.content, text, target)
  if (there?.content === content) return { content, unchanged: true, pullRequest: null }
  const head = `tutti/${target}-${createHash('sha256').update(content).digest('hex').slice(0, 12)}`
  await remote.branch(head, base)
  const proposed = await remote.file(path, head)
  const message = `Update ${path} from Tutti`
  if (proposed?.content !== content) await remote.put(path, content, { branch: head, message, replaces: proposed })
  const description = 'Generated from the records of the project. Text outside the markers is unchanged.'
  const pullRequest = await openPullRequest(ctx, repository, remote, {
    title: message,
    head,
    base,
    description,
    featureId: null,
  })
  return { content, unchanged: false, pullRequest }
}
