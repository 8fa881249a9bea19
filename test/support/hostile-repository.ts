import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const HOOKS = ['post-index-change', 'post-checkout', 'pre-auto-gc', 'reference-transaction', 'fsmonitor-watchman']

/** Settings whose value is a program. */
const PROGRAMS = [
  'core.fsmonitor',
  'core.sshCommand',
  'core.pager',
  'core.editor',
  'core.askPass',
  'core.gitProxy',
  'core.alternateRefsCommand',
  'credential.helper',
  'diff.external',
  'diff.evil.command',
  'diff.evil.textconv',
  'filter.evil.clean',
  'filter.evil.smudge',
  'filter.daemon.process',
  'gpg.program',
  'interactive.diffFilter',
  'merge.evil.driver',
  'remote.origin.uploadpack',
  'uploadpack.packObjectsHook',
]
const COMMANDS = ['symbolic-ref', 'rev-parse', 'ls-files', 'ls-tree', 'check-ignore', 'diff', 'status', 'fetch']

export const gitIn =
  (folder: string) =>
  (...args: string[]): string => {
    const ran = Bun.spawnSync(['git', '-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], { cwd: folder })
    if (!ran.success) throw new Error(`git ${args.join(' ')}: ${ran.stderr.toString()}`)
    return ran.stdout.toString()
  }

/**
 * Makes a repository name a program in every setting that can start one, and every tracked file pass through filters.
 * Returns a function that lists the settings whose program was started so far.
 */
export function makeHostile(repository: string): () => string[] {
  const at = join(repository, '.git')
  const started = join(at, 'started')
  mkdirSync(started)
  const program = join(at, 'evil')
  writeFileSync(program, `#!/bin/sh\ntouch "${started}/$1"\n`, { mode: 0o755 })
  const git = gitIn(repository)
  for (const name of COMMANDS) {
    git('config', `alias.${name}`, `!${program} alias.${name}`)
    git('config', `pager.${name}`, `${program} pager.${name}`)
  }
  const hooks = join(at, 'their-hooks')
  mkdirSync(hooks)
  for (const hook of HOOKS)
    for (const folder of [hooks, join(at, 'hooks')])
      writeFileSync(join(folder, hook), `#!/bin/sh\n${program} ${hook}\n`, { mode: 0o755 })
  writeFileSync(join(at, 'info', 'attributes'), '* filter=evil diff=evil merge=evil\nchanged filter=daemon\n')
  // A partial clone fetches what is missing, from wherever and with whatever program it says.
  git('config', 'core.repositoryFormatVersion', '1')
  git('config', 'extensions.partialClone', 'origin')
  git('config', 'remote.origin.promisor', 'true')
  git('config', 'remote.origin.url', repository)
  git('config', 'core.hooksPath', hooks)
  const lines = PROGRAMS.map((name) => {
    const [section, ...rest] = name.split('.')
    const head = rest.length > 1 ? `[${section} "${rest[0]}"]` : `[${section}]`
    return `${head}\n\t${rest.at(-1)} = ${program} ${name} #\n`
  })
  appendFileSync(join(at, 'config'), lines.join('').replaceAll(' #\n', '\n'))
  return () => readdirSync(started).sort()
}
