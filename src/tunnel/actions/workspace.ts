import { object, type Static, text } from '../../schema.ts'
import { isAllowed } from '../machine-config.ts'
import { ActionFailure, type ActionRun, actionLimits } from './action.ts'
import { runProgram } from './run-program.ts'

export const SyncWorkspace = object({ workspace: text(30, { minLength: 1 }) })

/** Disables hooks and helpers, which are programs that the authors of the repository chose. */
const git = ['git', '-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false']

/**
 * Updates a working copy from its upstream by fast-forward only. Fails instead of overwriting local commits or changes.
 */
export async function syncWorkspace({ workspace }: Static<typeof SyncWorkspace>, run: ActionRun): Promise<unknown> {
  const { machine, user } = run
  const found = Object.hasOwn(machine.workspaces ?? {}, workspace) ? machine.workspaces?.[workspace] : undefined
  if (!found || !isAllowed(found.who, user, machine.ownerId))
    throw new ActionFailure('refused', 'The machine does not offer you this workspace.')
  const env = { ...run.env, GIT_TERMINAL_PROMPT: '0' }
  const at = { folder: found.folder, env, ms: actionLimits.ms }
  const head = async () => {
    const lines: string[] = []
    await runProgram({ ...at, argv: [...git, 'rev-parse', 'HEAD'] }, { ...run, print: (text) => void lines.push(text) })
    return lines.join('').trim()
  }
  const before = await head()
  const { code } = await runProgram({ ...at, argv: [...git, 'pull', '--ff-only', '--no-rebase', '--quiet'] }, run)
  if (code !== 0) throw new ActionFailure('failed', `git pull ended with exit code ${code}.`, { exitCode: code })
  return { before, after: await head() }
}
