import { createHash } from 'node:crypto'
import { type BigIntStats, lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { environmentForGit } from '../terminal/environment.ts'

/**
 * The only place that runs git. A folder that came from elsewhere brings `.git/config` and `.gitattributes`, which can
 * name programs, and most git commands start them: a command that compares the work tree runs clean filters, and no
 * setting turns those off. So only commands that read HEAD and the index are run here, and this file compares the
 * files itself. The rest of the settings is overridden, although these commands should not need it.
 */
const SETTINGS = [
  'core.quotePath=off',
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'safe.bareRepository=explicit',
].flatMap((setting) => ['-c', setting])

/** Objects that are missing are not fetched, because fetching starts whatever program the repository names. */
const NO_FETCHING = { GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: '', GIT_TERMINAL_PROMPT: '0' }

/** What the index says about a file. */
interface Entry {
  mode: string
  hash: string
  path: string
  /** In nanoseconds. */
  modified: bigint
  size: bigint
  flags: number
}

/** Assumed unchanged, or outside a sparse checkout. */
const NOT_COMPARED = 0x4000_8000

/** A larger file counts as changed when its size or time differs; its content is not compared. */
const MOST_COMPARED = 8n << 20n

/** Returns the output of a git command in this folder; undefined if it fails or there is no git. */
export function runGit(folder: string, ...args: string[]): string | undefined {
  const env = { ...environmentForGit(), ...NO_FETCHING }
  const program = Bun.which('git', { PATH: env.PATH })
  if (!program) return undefined
  try {
    const ran = Bun.spawnSync([program, '--no-pager', '--no-optional-locks', ...SETTINGS, ...args], {
      cwd: folder,
      env,
      stderr: 'ignore',
      timeout: 1000,
    })
    return ran.success ? ran.stdout.toString() : undefined
  } catch {
    return undefined
  }
}

export const currentBranch = (folder: string): string | undefined =>
  runGit(folder, 'symbolic-ref', '--short', 'HEAD')?.trim() || undefined

/** Returns the tracked files in this folder that differ from the last commit, as paths relative to it. */
export function changedFiles(folder: string, limit: number): string[] {
  const index = runGit(folder, 'ls-files', '-z', '--stage', '--debug')
  if (index === undefined) return []
  const tree = runGit(folder, 'ls-tree', '-r', '-z', 'HEAD')
  const committed = treeOf(tree ?? '')
  const written = indexWritten(folder)
  const changed = new Set<string>()
  for (const entry of entriesOf(index)) {
    const staged = tree !== undefined && committed.get(entry.path) !== `${entry.mode} ${entry.hash}`
    committed.delete(entry.path)
    if (changed.size < limit && (staged || isChanged(folder, entry, written))) changed.add(entry.path)
  }
  // What is left was committed and is no longer in the index.
  return [...changed, ...committed.keys()].slice(0, limit)
}

/** Returns `mode hash` of each path from the output of ls-tree. */
function treeOf(output: string): Map<string, string> {
  const tree = new Map<string, string>()
  for (const [, mode, hash, path] of output.matchAll(/(\d+) \w+ ([0-9a-f]+)\t([^\0]+)\0/g))
    tree.set(path as string, `${mode} ${hash}`)
  return tree
}

/** An entry of `ls-files --stage --debug`, with what the index knows about the file on the disk. */
const ENTRY = new RegExp(
  [
    '(\\d+) ([0-9a-f]+) \\d\\t([^\\0]+)\\0 +ctime: [\\d:]+',
    ' +mtime: (\\d+):(\\d+)',
    ' +dev: .*',
    ' +uid: .*',
    ' +size: (\\d+)\\tflags: ([0-9a-f]+)\\n',
  ].join('\\n'),
  'g',
)

function entriesOf(output: string): Entry[] {
  return [...output.matchAll(ENTRY)].map(([, mode, hash, path, seconds, nanoseconds, size, flags]) => ({
    mode: mode as string,
    hash: hash as string,
    path: path as string,
    modified: BigInt(seconds as string) * 1_000_000_000n + BigInt(nanoseconds as string),
    size: BigInt(size as string),
    flags: Number.parseInt(flags as string, 16),
  }))
}

/** When the index was written. A file changed at that moment or later may have the size and time that are stored. */
function indexWritten(folder: string): bigint {
  const path = runGit(folder, 'rev-parse', '--git-path', 'index')?.trim()
  return (path && statOf(isAbsolute(path) ? path : join(folder, path))?.mtimeNs) || 0n
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true })
  } catch {
    return undefined
  }
}

/**
 * Tells whether a file differs from the index. A file of another time or size is hashed as it is, without the
 * filters of the repository, so one that was only touched counts as changed where a filter converts it.
 */
function isChanged(folder: string, entry: Entry, written: bigint): boolean {
  // A submodule is a repository of its own.
  if (entry.mode === '160000' || entry.flags & NOT_COMPARED) return false
  const file = join(folder, entry.path)
  const link = entry.mode === '120000'
  const stat = statOf(file)
  if (!stat || (link ? !stat.isSymbolicLink() : !stat.isFile())) return true
  const same = stat.mtimeNs === entry.modified && BigInt.asUintN(32, stat.size) === entry.size
  if (same && entry.modified < written) return false
  return stat.size > MOST_COMPARED || hashOf(file, link, entry.hash.length) !== entry.hash
}

/** Returns the name that git gives to this content; undefined if it cannot be read. */
function hashOf(file: string, link: boolean, length: number): string | undefined {
  try {
    const content = link ? Buffer.from(readlinkSync(file)) : readFileSync(file)
    const hash = createHash(length === 40 ? 'sha1' : 'sha256')
    return hash.update(`blob ${content.length}\0`).update(content).digest('hex')
  } catch {
    return undefined
  }
}
