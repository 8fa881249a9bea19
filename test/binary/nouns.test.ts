import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nouns } from '../../cli/nouns/index.ts'
import { folder, onTerminal, type Run, tutti } from '../support/binary.ts'
import { type Home, Office } from './home.ts'

let office: Office
let home: Home
/** Linked to the project. */
const work = folder()

beforeAll(async () => {
  office = await Office.open()
  home = await office.signedIn()
  await home.run('projects', 'create', 'Tutti', '--key', 'TUT')
  await home.within(work, ['link', 'TUT'])
}, 60_000)
afterAll(() => office.server.kill())

/** As typed, with words in quotes; what comes on standard input behind `<`. */
function typed(line: string): Promise<Run> {
  const [command, stdin] = line.split(' < ') as [string, string?]
  const words = [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) => double ?? single ?? bare ?? '')
  return home.within(work, words, stdin)
}
async function listed(noun: string): Promise<Record<string, string>[]> {
  return (JSON.parse((await typed(`${noun} list --json`)).out) as { items: Record<string, string>[] }).items
}
/** In a line, `{notes}` is the first 13 letters of the id of the last note, as lists show it. */
async function filled(line: string): Promise<string> {
  const noun = /\{(\w+)\}/.exec(line)?.[1]
  return noun ? line.replaceAll(`{${noun}}`, (await listed(noun))[0]?.id?.slice(0, 13) ?? 'none') : line
}

/** Every verb of every noun, in an order in which each finds what it needs: what is typed, and what is shown. */
const everyday: [string, RegExp][] = [
  ['projects list', /^Key +Slug +Name +Status +Seen by\nTUT +tutti +Tutti/],
  ['projects show tut', /^Name +Tutti\nSlug +tutti\nKey +TUT$/m],
  ['projects update tutti -d - < "all of it"', /\n\n"all of it"\n$/],
  ['projects create "Old one" --key OLD --visibility private', /Visibility +private/],
  ['projects archive OLD', /Status +archived/],
  ['projects archive OLD --restore', /Status +active/],
  ['projects delete OLD', /^Deleted OLD\.\n$/],

  ['tasks create "Lock it" -d - -l db -a me --due 2027-01-31 --estimate 3 --accept "one writer" < why', /^Task +TUT-1 Lock it$/m],
  ['tasks create "Review it" --blocked-by TUT-1 --priority high', /Waits for +TUT-1/],
  [
    'tasks list',
    /^Task +Status +Priority +Title +Who\nTUT-2 +todo, waits +high +Review it +-\nTUT-1 +todo +medium +Lock it +Grace Hopper\n$/,
  ],
  ['tasks ls --ready --assignee me --label db --status todo --search lock', /^Task.*\nTUT-1 .*\n$/],
  ['tasks show tut-1', /Due +2027-01-31\n.*\nFrees +TUT-2\n[\s\S]*\n\nwhy\n\n\[ \] one writer\n$/],
  ['tasks update TUT-1 --priority critical', /Priority +critical/],
  ['tasks next --look', /TUT-1 Lock it\nStatus +todo/],
  ['tasks next', /TUT-1 Lock it\nStatus +in_progress[\s\S]*At work +Grace Hopper until 20/],
  ['tasks release TUT-1', /Status +todo/],
  ['tasks claim TUT-1 --minutes 5', /At work/],
  ['tasks comment TUT-1 - < done soon', /^Said\.\n$/],
  ['tasks show TUT-1', /Grace Hopper, just now: done soon\n$/],
  ['tasks done TUT-1 --notes "as told"', /^TUT-1 is done\.\nFreed: TUT-2 Review it\nNext: TUT-2 Review it\n$/],
  ['tasks delete TUT-2', /^Deleted TUT-2\.\n$/],

  ['features create "Folder lock" -d x --kind chore', /Kind +chore/],
  ['features list', /^Id +Status +Kind +Title +Gates\n[\da-f]{8}-[\da-f]{4} +todo +chore +Folder lock/],
  ['features update {features} --priority high', /Priority +high/],
  ['features advance {features}', /Status +in_progress[\s\S]*still missing: what changed/],
  ['features advance {features} --summary "It locks" --file src/lock.ts --commit 1a2b3c4', /code_complete (passed|done|given)/],
  ['features show {features}', /^Feature +Folder lock/],

  ['notes create Runbook --scope team -c - --tag ops < first do this', /Tags +ops\nSeen by +team\n[\s\S]*\n\nfirst do this\n$/],
  ['notes list --tag ops --search first', /Runbook +ops +team +just now\n$/],
  ['notes update {notes} --title "Runbook 2"', /^Note +Runbook 2\n/],
  ['notes show {notes}', /^Note +Runbook 2\n/],
  ['notes delete {notes}', /^Deleted /],

  ['memory store "Two writers damaged the folder" -t Lock --tag db', /^Stored as [\da-f-]{36}\.\n$/],
  ['memory list', /project +Lock +just now\n$/],
  ['memory search why lock the folder', /^Lock +memory, \d\.\d\d, just now\n +Two writers/],
  ['memory update {memory} --importance 0.9', /Importance +0\.9/],
  ['memory show {memory}', /Two writers damaged the folder\n$/],
  ['memory delete {memory}', /^Forgot /],

  ['decisions create "One process" --decision "It is locked" --rationale NFS --tag db', /\n\nIt is locked\n\nBecause: NFS\n$/],
  ['decisions list --status accepted --tag db', /accepted +One process +just now\n$/],
  ['decisions comment {decisions} - < hm', /^Said\.\n$/],
  ['decisions outcome {decisions} "no damage since"', /^Noted\.\n$/],
  ['decisions update {decisions} --rationale "NFS has no locks"', /Because: NFS has no locks/],
  ['decisions show {decisions}', /Outcome: no damage since\n$/],

  ['specs create "Folder lock" -c - < # one', /Version +1\nSlug +folder-lock/],
  ['specs list', /^Slug.*\nfolder-lock +draft +Folder lock +1 +just now\n$/],
  ['specs update folder-lock --base-version 1 -c - -m NFS < # two', /Version +2\n[\s\S]*# two\n$/],
  ['specs versions folder-lock', /\n2 +draft +Grace Hopper +just now +NFS\n1 /],
  ['specs compare folder-lock 1', /^-# one$[\s\S]*^\+# two$/m],
  ['specs show {specs}', /^Spec +Folder lock/],

  ['sessions start -g "finish it" --task TUT-1', /Goals: «finish it»/],
  ['sessions list', /active +finish it +just now\n$/],
  ['sessions checkpoint --next-step - --branch lock < write tests', /^Saved\.\n$/],
  ['sessions resume', /Next step: «write tests»/],
  ['sessions context --budget 500', /Next step: «write tests»/],
  ['sessions show {sessions}', /Goals +finish it/],
  ['sessions end -m done', /^Ended, and one memory written\.\n$/],

  ['agents create Coder --role "writes code" --model m', /^Agent +Coder\n/],
  ['agents list', /Coder +writes code +m +active\n$/],
  ['agents update {agents} --role "writes tests"', /Role +writes tests/],
  ['agents show {agents}', /Model +m\n/],
  ['agents delete {agents}', /^Deleted /],

  ['skills create Review -d "how to" -c - < read it', /\n\nread it\n$/],
  ['skills list', /Review +how to +personal\n$/],
  ['skills update {skills} --tag q', /Tags +q/],
  ['skills show {skills}', /About +how to/],
  ['skills delete {skills}', /^Deleted /],

  ['activity log deploy "Deployed 1.4" --metadata \'{"a":1}\'', /^Written down\.\n$/],
  ['activity list --type deploy --since 2020-01-01', /^When.*\njust now +Grace Hopper +Deployed 1\.4\n$/],
  ['activity show {activity}', /Type +deploy\n/],

  ['teams list', /^Slug +Name +Your role\n\S+ +Grace Hopper's space +owner\n$/],
  ['teams create Second -d x', /Slug +second\n/],
  ['teams update second --name Third', /^Team +Third\n/],
  ['teams show second', /Your role +owner/],
  ['teams members second', /Grace Hopper +grace@example\.com +owner\n$/],
  ['teams invite second bob@example.com --role member', /^Invited bob@example\.com\.\n$/],

  ['tokens create laptop --scope read --expires-in 30', /^svc_live_\w+\n$/],
  ['tokens list', /laptop +read +never\n$/],
  ['tokens revoke laptop', /^It works no more\.\n$/],

  ['search lock', /^spec \(1\)\n +[\da-f]{8}-[\da-f]{4} +Folder lock\n/m],
  ['search lock --kind task --all-projects', /^task \(1\)\n/],
]

test('every verb does what it says, in words that people read', async () => {
  const wrong: string[] = []
  for (const [line, expected] of everyday) {
    const { code, out, err } = await typed(await filled(line))
    if (code !== 0 || err !== '' || !expected.test(out) || out.includes('\x1b')) wrong.push(`${line}: ${code} ${err}${out}`)
  }
  expect(wrong.join('\n')).toBe('')
}, 120_000)

test('no verb is left out', async () => {
  const tried = new Set(everyday.map(([line]) => line.split(' ').slice(0, 2).join(' ')))
  // A review needs somebody else.
  tried.add('features review')
  const missing: string[] = []
  for (const [noun, { load }] of Object.entries(nouns))
    for (const { name, aliases = [] } of (await load()).verbs)
      if (![name, ...aliases].some((verb) => tried.has(`${noun} ${verb}`))) missing.push(`${noun} ${name}`)
  expect(missing).toEqual([])
})

describe('on a terminal', () => {
  const title = 'A title that is far too long for a narrow terminal, 字字字字字字字字, and goes on'
  const bare = (text: string) => Bun.stripANSI(text)

  test('tables fit, and colour is there unless it is not wanted', async () => {
    await typed(`tasks create "${title}"`)
    await typed(`notes create "${title}"`)
    await typed(`decisions create "${title}" --decision x`)
    for (const noun of ['tasks', 'notes', 'decisions', 'activity', 'projects', 'specs']) {
      const { code, shown } = await onTerminal([noun, 'list', '-n', '5'], { env: home.env, cwd: work, columns: 70 })
      const lines = bare(shown.split('\nMore: ')[0] as string).split('\n')
      expect([noun, code, shown.startsWith('\x1b[2m'), lines.filter((line) => Bun.stringWidth(line) > 70)]).toEqual([noun, 0, true, []])
    }
    const plain = await onTerminal(['tasks', 'list'], { env: { ...home.env, NO_COLOR: '1' }, cwd: work, columns: 60 })
    expect(plain.shown).not.toContain('\x1b')
    expect(plain.shown).toContain('…')
    expect((await typed('tasks list')).out).toContain(title)
    const json = await onTerminal(['tasks', 'list', '--json'], { env: home.env, cwd: work })
    expect((JSON.parse(json.shown) as { items: object[] }).items).not.toBeEmpty()
    const refused = await onTerminal(['tasks', 'show', 'TUT-99'], { env: home.env, cwd: work })
    expect({ ...refused, shown: bare(refused.shown) }).toEqual({ code: 4, shown: 'tutti: No task "TUT-99" that you can see.\n' })
  }, 60_000)

  test('what somebody stored cannot steer it', async () => {
    const evil = '\x1b]0;mine\x07\x1b[31m red\u202e'
    const { body } = await office.api<{ id: string }>('POST', '/api/notes', { title: `t ${evil}`, content: `c ${evil}\nsecond` })
    for (const command of [
      ['notes', 'show', body.id],
      ['notes', 'list', '--all-projects'],
      ['search', 'red', '--all-projects'],
    ]) {
      const { shown } = await onTerminal(command, { env: { ...home.env, NO_COLOR: '1' } })
      expect(shown).toContain('red')
      expect([...shown].filter((letter) => '\x1b\x07\u202e'.includes(letter))).toEqual([])
    }
  })
})

describe('--json', () => {
  test('is what the API answers, for one and for many', async () => {
    const [task] = await listed('tasks')
    const { body } = await office.api('GET', `/api/tasks/${task?.id}`)
    expect(JSON.parse((await typed(`tasks show ${task?.key} --json`)).out)).toEqual(body as object)
    for (const noun of Object.keys(nouns).filter((n) => n !== 'features')) {
      const path = { memory: 'memories', activity: 'activities', tokens: 'mcp-tokens' }[noun] ?? noun
      const { body: page } = await office.api<object>('GET', `/api/${path}?limit=2`)
      const out = await home.run(noun, 'list', '-n', '2', '--json')
      expect([noun, JSON.parse(out.out)]).toEqual([noun, page])
    }
    const found = JSON.parse((await typed('search lock --json')).out) as { items: unknown[] }
    expect(found.items).not.toBeEmpty()
  }, 60_000)

  test('goes on where a list ended', async () => {
    const first = (await typed('activity list -n 2')).out
    const cursor = /^More: --cursor (\S+)$/m.exec(first)?.[1]
    const next = await typed(`activity list -n 2 --cursor ${cursor}`)
    expect(next.code).toBe(0)
    expect(next.out).not.toBe(first)
  })

  test('a reader that has seen enough ends it without a word', async () => {
    const run = Bun.spawn(
      ['bash', '-c', `set -o pipefail; "$0" activity list -n 200 --json | head -1`, join(import.meta.dir, '../../dist/tutti')],
      {
        env: { PATH: process.env.PATH, HOME: folder(), ...home.env },
        stdout: 'pipe',
        stderr: 'pipe',
      },
    )
    expect([await new Response(run.stdout).text(), await new Response(run.stderr).text()]).toEqual(['{\n', ''])
  })
})

describe('exit codes', () => {
  test.each([
    ['tasks', 2, /^Usage: tutti tasks/],
    ['tasks frob', 2, /unknown command 'frob'/],
    ['tasks show', 2, /missing required argument 'task'/],
    ['tasks list --nix', 2, /unknown option '--nix'/],
    ['tasks list -n 0', 2, /limit must be at least 1/],
    ['tasks list -n many', 2, /--limit takes a number, not many/],
    ['tasks create x --priority huge', 2, /priority must be one of/],
    ['tasks create x --due tomorrow', 2, /--due takes a time/],
    ['tasks update TUT-1', 2, /Nothing to change/],
    ['tasks create - -d - < x', 2, /Only one value can come from standard input/],
    ['activity log x y --metadata {', 2, /--metadata takes JSON/],
    ['search x --kind nix', 2, /There is no kind nix\. There are: memory, note/],
    ['completion tcsh', 2, /bash, zsh, fish/],
    ['connect emacs', 2, /Allowed choices are claude-code, codex/],
    ['tasks list --server tutti.invalid', 3, /not signed in to https:\/\/tutti\.invalid/],
    ['tasks show TUT-99', 4, /No task "TUT-99"/],
    ['teams show nix', 4, /No team "nix" among yours/],
    ['tokens revoke nix', 4, /No token "nix" among yours/],
    ['tasks list --profile nix', 4, /no profile nix/],
    ['sessions end', 5, /has ended already/],
    ['specs update folder-lock --base-version 1 -c x', 5, /It is at version 2 now/],
  ])('%s: %d', async (line, code, told) => {
    const run = await typed(line)
    expect([run.code, run.out, told.test(run.err) ? '' : run.err]).toEqual([code, '', ''])
  })

  test('an API key for reading may not write, and one that makes no tokens says who does', async () => {
    const env = { XDG_CONFIG_HOME: folder() }
    await tutti(['login', office.url, '--with-token'], { env, stdin: await office.key(['tasks:read', 'projects:read']) })
    const inWork = (...args: string[]) => tutti(args, { env, cwd: work })
    expect((await inWork('tasks', 'list')).code).toBe(0)
    expect((await inWork('tasks', 'create', 'x')).code).toBe(3)
    expect(await inWork('tokens', 'create', 'x')).toMatchObject({ code: 3, err: expect.stringContaining('Sign in yourself') as string })
  })

  test('6 when the server is away', async () => {
    const env = { XDG_CONFIG_HOME: folder() }
    const other = await Office.open()
    await tutti(['login', other.url, '--with-token'], { env, stdin: await other.key() })
    await other.server.kill()
    for (const command of [
      ['tasks', 'list'],
      ['search', 'x'],
      ['link', 'TUT'],
    ])
      expect(await tutti(command, { env })).toMatchObject({ code: 6, out: '', err: expect.stringContaining('cannot be reached') as string })
  }, 60_000)
})

describe('a linked folder', () => {
  test('names the project, below it as well, unless told otherwise', async () => {
    await home.run('projects', 'create', 'Other', '--key', 'OTH')
    const deep = join(work, 'src', 'deep')
    mkdirSync(deep, { recursive: true })
    const made = async (cwd: string, ...more: string[]) =>
      (JSON.parse((await home.within(cwd, ['tasks', 'create', 'Where am I', '--json', ...more])).out) as { key: string }).key
    expect(await made(deep)).toStartWith('TUT-')
    expect(await made(deep, '-p', 'other')).toStartWith('OTH-')
    const keys = async (...more: string[]) => (await home.within(deep, ['tasks', 'list', ...more])).out.match(/^[A-Z]{3}(?=-)/gm)
    expect(new Set(await keys())).toEqual(new Set(['TUT']))
    expect(new Set(await keys('-p', 'OTH'))).toEqual(new Set(['OTH']))
    expect(new Set(await keys('--all-projects'))).toEqual(new Set(['TUT', 'OTH']))
    expect((await home.run('tasks', 'create', 'x')).err).toContain('Which project?')
  })

  test('holds no secret; one of another server says nothing, a damaged one is refused', async () => {
    const linked = readFileSync(join(work, '.tutti.json'), 'utf8')
    expect(Object.keys(JSON.parse(linked) as object)).toEqual(['server', 'project', 'slug'])
    const other = folder()
    writeFileSync(join(other, '.tutti.json'), linked.replace(office.url, 'https://tutti.example.com'))
    expect((await home.within(other, ['tasks', 'create', 'x'])).err).toContain('Which project?')
    writeFileSync(join(other, '.tutti.json'), '{')
    expect(await home.within(other, ['tasks', 'list'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('Link the folder again') as string,
    })
    expect((await home.within(other, ['link', 'nix'])).code).toBe(4)
    expect((await home.within(other, ['link', 'TUT'])).code).toBe(0)
    expect((await home.within(other, ['tasks', 'list'])).code).toBe(0)
  })
})
