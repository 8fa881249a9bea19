import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { changedFiles, currentBranch } from '../cli/agents/git.ts'
import { isInGit } from '../cli/agents/settings-file.ts'
import { gitIn, makeHostile } from './support/hostile-repository.ts'

const root = mkdtempSync(join(tmpdir(), 'tutti-repository-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

describe('reading a git repository', () => {
  let at: string
  let git: ReturnType<typeof gitIn>
  const write = (file: string, text: string) => writeFileSync(join(at, file), text)
  const names = ['kept', 'touched', 'changed', 'staged', 'deleted', 'removed', 'a b/é "c"', 'outside', 'large']

  beforeEach(() => {
    at = mkdtempSync(join(root, 'r-'))
    git = gitIn(at)
    git('init', '-q', '-b', 'lock-folder')
    mkdirSync(join(at, 'a b'))
    for (const name of names) write(name, `${name}\n`)
    symlinkSync('kept', join(at, 'link'))
    git('add', '-A')
    git('commit', '-q', '-m', 'x')
  })

  /** Changes the work tree in every way; returns the files that differ from the commit. */
  const change = (): string[] => {
    utimesSync(join(at, 'touched'), 1, 1)
    write('staged', 'staged too\n')
    write('added', 'added\n')
    git('add', 'staged', 'added')
    // Equal to the index, but not to the commit.
    utimesSync(join(at, 'staged'), 1, 1)
    git('rm', '-q', 'removed')
    git('update-index', '--skip-worktree', 'outside')
    for (const file of ['deleted', 'outside', 'link']) unlinkSync(join(at, file))
    symlinkSync('lost', join(at, 'link'))
    // Of the same length, and perhaps written at the same moment as the index.
    write('changed', 'CHANGED\n')
    write('a b/é "c"', 'other\n')
    write('untracked', 'x')
    write('large', 'x'.repeat(9 << 20))
    return ['a b/é "c"', 'added', 'changed', 'deleted', 'large', 'link', 'removed', 'staged']
  }

  test('returns the branch and the files that differ from the last commit', () => {
    expect(changedFiles(at, 50)).toEqual([])
    const changed = change()
    expect(changedFiles(at, 50).sort()).toEqual(changed)
    expect(currentBranch(at)).toBe('lock-folder')
    expect(changedFiles(join(at, 'a b'), 50)).toEqual(['é "c"'])
    expect(changedFiles(at, 3)).toHaveLength(3)
    expect([changedFiles(root, 50), currentBranch(root), isInGit(join(root, 'x'))]).toEqual([[], undefined, false])
    expect([isInGit(join(at, 'kept')), isInGit(join(at, 'new'))]).toEqual([true, true])
    write('.gitignore', 'new\n')
    expect(isInGit(join(at, 'new'))).toBe(false)
  })

  test('starts no program that the repository configures', () => {
    const changed = change()
    const started = makeHostile(at)
    const variables = { GIT_DIR: root, GIT_EXTERNAL_DIFF: join(at, '.git', 'evil'), PATH: `.:${process.env.PATH}` }
    const before = { ...process.env }
    Object.assign(process.env, variables)
    writeFileSync(join(at, 'git'), `#!/bin/sh\n${join(at, '.git', 'evil')} git\n`, { mode: 0o755 })
    try {
      expect(changedFiles(at, 50).sort()).toEqual(changed)
      expect(currentBranch(at)).toBe('lock-folder')
      expect([isInGit(join(at, 'kept')), isInGit(join(at, 'new'))]).toEqual([true, true])
    } finally {
      for (const name of Object.keys(variables)) delete process.env[name]
      Object.assign(process.env, before)
    }
    expect(started()).toEqual([])
    // The traps work: a comparison of the files by git runs a filter.
    for (const file of ['changed', 'touched'])
      Bun.spawnSync(['git', '-c', 'core.fsmonitor=false', 'diff', '--name-only', 'HEAD', '--', file], { cwd: at })
    expect(started()).toEqual(expect.arrayContaining(['filter.daemon.process', 'filter.evil.clean']) as string[])
  })

  // The other file updates a working copy of its owner, without hooks and helpers of the repository.
  test('happens in one file only', async () => {
    const running: string[] = []
    for await (const file of new Bun.Glob('{src,cli}/**/*.ts').scan(join(import.meta.dir, '..')))
      if (/['"`]git['"`]/.test(await Bun.file(join(import.meta.dir, '..', file)).text())) running.push(file)
    expect(running.sort()).toEqual(['cli/agents/git.ts', 'src/tunnel/actions/workspace.ts'])
  })

  test('fetches no missing objects', () => {
    const tree = git('rev-parse', 'HEAD^{tree}').trim()
    write('changed', 'CHANGED\n')
    const started = makeHostile(at)
    unlinkSync(join(at, '.git', 'objects', tree.slice(0, 2), tree.slice(2)))
    expect(changedFiles(at, 50)).toEqual(['changed'])
    expect(started()).toEqual([])
    Bun.spawnSync(['git', 'ls-tree', '-r', 'HEAD'], { cwd: at })
    expect(started()).toContain('remote.origin.uploadpack')
  })
})
