import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nouns } from '../../cli/nouns/index.ts'
import { BINARY, folder, onTerminal, type Run, tutti } from '../support/binary.ts'
import { until } from '../support/until.ts'
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
}, 300_000)
afterAll(() => office.server.kill())

/** As typed, with words in quotes; what comes on standard input behind `<`. */
function typed(line: string): Promise<Run> {
  const [command, stdin] = line.split(' < ') as [string, string?]
  const words = [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  )
  return home.within(work, words, stdin)
}
async function listed(noun: string): Promise<Record<string, string>[]> {
  return (JSON.parse((await typed(`${noun} list --json`)).out) as { items: Record<string, string>[] }).items
}
describe('output on a terminal', () => {
  const title = 'A title that is far too long for a narrow terminal, 字字字字字字字字, and goes on'
  const bare = (text: string) => Bun.stripANSI(text)

  test('fits the width and is coloured unless NO_COLOR is set', async () => {
    await typed(`tasks create "${title}" -l db`)
    await typed('specs create "Folder lock" -c one')
    await typed('specs update folder-lock --base-version 1 -c two')
    await typed(`notes create "${title}"`)
    await typed(`decisions create "${title}" --decision x`)
    for (const columns of [80, 40])
      for (const noun of ['tasks', 'notes', 'decisions', 'activity', 'projects', 'specs', 'teams']) {
        const { code, shown } = await onTerminal([noun, 'list', '--all'], { env: home.env, cwd: work, columns })
        const broken = bare(shown)
          .split('\n')
          .filter((line) => Bun.stringWidth(line) > columns)
        expect([noun, code, shown.startsWith('\x1b[2m'), broken]).toEqual([noun, 0, true, []])
      }
    const narrow = await onTerminal(['tasks', 'show', 'TUT-1'], { env: home.env, cwd: work, columns: 40 })
    expect(
      bare(narrow.shown)
        .split('\n')
        .filter((line) => Bun.stringWidth(line) > 40 && !line.startsWith('Id')),
    ).toEqual([])
    const plain = await onTerminal(['tasks', 'list'], { env: { ...home.env, NO_COLOR: '1' }, cwd: work, columns: 60 })
    expect(plain.shown).not.toContain('\x1b')
    expect(plain.shown).toContain('…')
    expect((await typed('tasks list')).out).toContain(title)
    const forced = (env: Record<string, string>) =>
      tutti(['tasks', 'list'], { env: { ...home.env, ...env }, cwd: work })
    expect((await forced({ FORCE_COLOR: '1' })).out).toStartWith('\x1b[2m')
    expect((await forced({ FORCE_COLOR: '1', NO_COLOR: '1' })).out).not.toContain('\x1b')
    expect(
      (await onTerminal(['tasks', 'list'], { env: { ...home.env, TERM: 'dumb' }, cwd: work })).shown,
    ).not.toContain('\x1b')
    const json = await onTerminal(['tasks', 'list', '--json'], { env: home.env, cwd: work })
    expect((JSON.parse(json.shown) as { items: object[] }).items).not.toBeEmpty()
    const refused = await onTerminal(['tasks', 'show', 'TUT-99'], { env: home.env, cwd: work })
    expect({ ...refused, shown: bare(refused.shown) }).toEqual({
      code: 4,
      shown: 'tutti: Task TUT-99 not found. List tasks with: tutti tasks list\n',
    })
  }, 300_000)

  test('contains stored text without its control characters', async () => {
    const family = '👩\u200d👩\u200d👧'
    const persian = 'می\u200cخواهم'
    const evil = '\x1b]0;mine\x07\x1b[31m\x9b2J red\u202e\u2066\u2028\r\b'
    const whole = `${family} ${persian} 字 ${evil}`
    const { body } = await office.api<{ id: string }>('POST', '/api/notes', {
      title: `t ${whole}`,
      content: `c ${whole}\nsecond\tcolumn`,
    })
    const { key } = (
      await office.api<{ key: string }>('POST', '/api/projects/tutti/tasks', {
        title: `t ${whole}`,
        labels: [`l ${evil}`],
      })
    ).body
    await office.api('PATCH', `/api/tasks/${key}`, { acceptance: [`a ${whole}`] })
    await office.api('POST', `/api/tasks/${key}/comments`, { body: `c ${whole}` })
    // Search follows a moment later.
    const found = () => office.api<{ items: object[]; indexing?: object }>('GET', '/api/search?q=red')
    for (let { body } = await found(); body.items.length === 0 || body.indexing; { body } = await found())
      await Bun.sleep(20)
    for (const command of [
      ['notes', 'show', body.id],
      ['notes', 'list', '--all-projects'],
      ['tasks', 'show', key],
      ['tasks', 'list'],
      ['tasks', 'list', '--ready'],
      ['activity', 'list', '-n', '20'],
      ['search', 'red', '--all-projects'],
    ]) {
      const { code, shown } = await onTerminal(command, {
        env: { ...home.env, NO_COLOR: '1' },
        cwd: work,
        columns: 200,
      })
      expect([code, command, shown.includes('red')]).toEqual([0, command, true])
      const steering = [...shown].filter(
        (letter) => letter !== '\n' && /\p{Cc}|\p{Bidi_Control}|\p{Zl}|\p{Zp}/u.test(letter),
      )
      expect([command, steering.filter((letter) => letter !== '\t')]).toEqual([command, []])
    }
    const piped = (await home.run('notes', 'show', body.id)).out
    for (const kept of [family, persian, 'second\tcolumn']) expect(piped).toContain(kept)
  }, 300_000)
})

describe('memory search in a linked folder', () => {
  const hint =
    'Searched only in tutti, the project that this folder is linked to. To search everywhere, add --all-projects.\n'

  test('says that it searched only the linked project, and how to search everywhere', async () => {
    await typed('memory add "Two writers damaged the folder"')
    const found = await typed('memory search writers')
    expect([found.out.includes('Two writers'), found.err]).toEqual([true, hint])
    const none = await typed('memory search "zebra crossing" --tag none')
    expect(none.err).toBe(`Nothing found: s${hint.slice(1)}`)
    for (const chosen of ['--all-projects', '--project TUT', '--scope project --scope-id TUT']) {
      const { code, err } = await typed(`memory search writers ${chosen}`)
      expect([chosen, code, err]).toEqual([chosen, 0, ''])
    }
    const { out, err } = await typed('memory search writers --json')
    expect([JSON.parse(out).items.length > 0, err]).toEqual([true, ''])
  }, 300_000)
})

describe('--json', () => {
  test('prints the response of the API for one record and for lists', async () => {
    const [task] = await listed('tasks')
    // What the reader may do depends on how they signed in.
    const { can: _, ...body } = (await office.api<{ can: object }>('GET', `/api/tasks/${task?.id}`)).body
    const { can: __, ...shown } = JSON.parse((await typed(`tasks show ${task?.key} --json`)).out)
    expect(shown).toEqual(body)
    // These have another path, which depends on a project, or no pages.
    const apart = ['features', 'epics', 'stories', 'integrations', 'webhooks']
    const paths = {
      memory: 'memories',
      activity: 'activities',
      tokens: 'mcp-tokens',
      repositories: 'repos',
      oauth: 'settings/grants',
    }
    for (const noun of Object.keys(nouns).filter((n) => !apart.includes(n))) {
      const path = paths[noun as keyof typeof paths] ?? noun
      const { body: page } = await office.api<object>('GET', `/api/${path}?limit=2`)
      const out = await home.run(noun, 'list', '-n', '2', '--json')
      expect([noun, JSON.parse(out.out)]).toEqual([noun, page])
    }
    // Search follows a moment later.
    const items = await until(async () => {
      const found = JSON.parse((await typed('search lock --json')).out) as { items: unknown[]; indexing?: object }
      return !found.indexing && found.items
    })
    expect(items).not.toBeEmpty()
  }, 300_000)

  test('continues a list with --cursor, up to --limit or to the end with --all', async () => {
    const page = async (...more: string[]) =>
      JSON.parse((await home.within(work, ['activity', 'list', '--json', ...more])).out) as {
        items: { id: string }[]
        nextCursor: string | null
      }
    const first = await page('-n', '2')
    const next = await page('-n', '2', '--cursor', first.nextCursor as string)
    expect([...first.items, ...next.items]).toEqual((await page('-n', '4')).items)
    for (let i = 0; i < 210; i++) await office.api('POST', '/api/activities', { type: 'step', description: `${i}` })
    const all = await home.run('activity', 'list', '--type', 'step', '--all', '--json')
    expect(JSON.parse(all.out)).toMatchObject({ items: { length: 210 }, nextCursor: null })
    expect(JSON.parse((await home.run('activity', 'list', '--type', 'step', '-n', '205', '--json')).out)).toMatchObject(
      {
        items: { length: 205 },
      },
    )
    const cut = await home.run('activity', 'list', '--type', 'step')
    expect([cut.out.split('\n').length, cut.err]).toEqual([
      52,
      'More results exist. To see them, use --all or a higher --limit.\n',
    ])
    const none = await home.run('activity', 'list', '--type', 'none')
    expect(none).toEqual({ code: 0, out: '', err: 'No activity yet.\n' })
  }, 300_000)

  test('prints every error as JSON on standard error', async () => {
    const problem = async (...args: string[]) => {
      const { code, out, err } = await home.within(work, [...args, '--json'])
      expect(out).toBe('')
      return { code, problem: JSON.parse(err) as object }
    }
    expect(await problem('tasks', 'show', 'TUT-999')).toEqual({
      code: 4,
      problem: {
        code: 'not_found',
        detail: 'Task TUT-999 not found. List tasks with: tutti tasks list',
        subject: { kind: 'task', ref: 'TUT-999' },
        exitCode: 4,
      },
    })
    expect(await problem('tasks', 'update', 'TUT-1', '--priority', 'huge')).toMatchObject({
      code: 2,
      problem: { code: 'invalid', errors: [{ pointer: '/priority' }], exitCode: 2 },
    })
    expect(await problem('specs', 'update', 'folder-lock', '--base-version', '1', '-c', 'x')).toMatchObject({
      code: 5,
      problem: { code: 'version_mismatch', current: { version: 2 } },
    })
    expect(await problem('tasks', 'frob')).toEqual({
      code: 2,
      problem: { code: 'invalid', detail: "unknown command 'frob'", exitCode: 2 },
    })
    expect(await problem('tasks', 'list', '--nix')).toMatchObject({ code: 2, problem: { code: 'invalid' } })
    expect(await problem('tasks', 'update', 'TUT-1')).toMatchObject({ code: 2, problem: { code: 'invalid' } })
    expect(await problem('whoami', '--profile', 'nix')).toMatchObject({ code: 4, problem: { code: 'not_found' } })
  })

  test('exits silently when the reader closes the pipe', async () => {
    const run = Bun.spawn(['bash', '-c', `set -o pipefail; "$0" activity list -n 200 --json | head -1`, BINARY], {
      env: { PATH: process.env.PATH, HOME: folder(), ...home.env },
      stdout: 'pipe',
      stderr: 'pipe',
    })
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
    ['tasks list -n many', 2, /--limit must be a number, not many/],
    ['tasks create x --priority huge', 2, /priority must be one of/],
    ['tasks create x --due someday', 2, /--due must be a date or time/],
    ['tasks update TUT-1', 2, /Nothing to change/],
    ['tasks create - -d - < x', 2, /Only one value can be read from standard input/],
    ['activity log x y --metadata {', 2, /--metadata must be valid JSON/],
    ['search x --kind nix', 2, /Unknown kind nix\. Kinds: memory, note/],
    ['completion tcsh', 2, /bash, zsh, fish/],
    ['connect emacs', 2, /Allowed choices are claude-code, codex/],
    ['tasks list --server tutti.invalid', 3, /not signed in to https:\/\/tutti\.invalid/],
    ['tasks show TUT-99', 4, /Task TUT-99 not found/],
    ['teams show nix', 4, /nix not found\. List teams with: tutti teams list/],
    ['teams delete nix --yes', 4, /Team nix not found/],
    ['tokens revoke nix', 4, /nix not found\. List tokens with: tutti tokens list/],
    ['tasks update TUT-1 --parent nix', 4, /Task nix not found/],
    ['tasks check TUT-1 7', 2, /has 0 acceptance criteria/],
    ['specs update folder-lock -c x', 2, /Add --base-version 2/],
    ['projects list extra', 2, /too many arguments/],
    ['teams delete grace', 2, /Add --yes to confirm/],
    ['tasks list --profile nix', 4, /Profile nix not found/],
    ['sessions end', 4, /no open session here/],
    ['sessions checkpoint', 2, /Nothing to save/],
    ['specs update folder-lock --base-version 1 -c x', 5, /is now at version 2/],
  ])('%s: %d', async (line, code, told) => {
    const run = await typed(line)
    expect([run.code, run.out, told.test(run.err) ? '' : run.err]).toEqual([code, '', ''])
  })

  test('3 for an API key without the permission, with what to do instead', async () => {
    const env = { XDG_CONFIG_HOME: folder() }
    await tutti(['login', office.url, '--with-token'], {
      env,
      stdin: await office.key(['tasks:read', 'projects:read']),
    })
    const inWork = (...args: string[]) => tutti(args, { env, cwd: work })
    expect((await inWork('tasks', 'list')).code).toBe(0)
    expect((await inWork('tasks', 'create', 'x')).code).toBe(3)
    expect(await inWork('tokens', 'create', 'x')).toMatchObject({
      code: 3,
      err: expect.stringContaining('Sign in as a user') as string,
    })
  })

  test('6 when the server cannot be reached', async () => {
    const env = { XDG_CONFIG_HOME: folder() }
    const other = await Office.open()
    await tutti(['login', other.url, '--with-token'], { env, stdin: await other.key() })
    await other.server.kill()
    for (const command of [
      ['tasks', 'list'],
      ['search', 'x'],
      ['link', 'TUT'],
    ])
      expect(await tutti(command, { env })).toMatchObject({
        code: 6,
        out: '',
        err: expect.stringContaining('cannot be reached') as string,
      })
  }, 300_000)
})

describe('commands', () => {
  const made = async (path: string, body: object) =>
    (await office.api<{ id: string; slug: string; key: string }>('POST', path, body)).body

  test('accept an id, its beginning, a slug, a key or a number as reference', async () => {
    const [project, task] = [
      await made('/api/projects', { name: 'Names', key: 'NAM' }),
      await made('/api/projects/tutti/tasks', { title: 'x' }),
    ]
    const note = await made('/api/notes', { title: 'x' })
    const decision = await made('/api/decisions', { title: 'x', decision: 'y' })
    const memory = await made('/api/memories', { content: 'x', scope: 'project', scopeId: project.id })
    const spec = await made('/api/specs', { title: 'Names of things', content: 'x', projectId: project.id })
    const feature = await made('/api/projects/names/features', { title: 'x' })
    const agent = await made('/api/agents', { name: 'Namer' })
    const skill = await made('/api/skills', { name: 'Naming' })
    const session = await made('/api/sessions', { goals: ['x'] })
    const team = await made('/api/teams', { name: 'Named Team' })
    const beginning = ({ id }: { id: string }) => id.slice(0, 20)
    for (const [noun, one, ...names] of [
      ['projects', project, 'names', 'NAM', 'nam'],
      ['tasks', task, task.key, task.key.toLowerCase()],
      ['notes', note, note.slug],
      ['decisions', decision],
      ['memory', memory],
      ['specs', spec, spec.slug],
      ['features', feature],
      ['agents', agent, agent.slug],
      ['skills', skill, skill.slug],
      ['sessions', session],
      ['teams', team, team.slug, 'Named Team', 'named team'],
    ] as const)
      for (const name of [one.id, beginning(one), beginning(one).toUpperCase(), ...names]) {
        const { code, out } = await home.run(noun, 'show', name, '--json')
        expect([noun, name, code, code === 0 && (JSON.parse(out) as { id: string }).id]).toEqual([
          noun,
          name,
          0,
          one.id,
        ])
      }
    // Where the API takes an id alone.
    const part = JSON.parse((await typed(`tasks create part --parent ${task.key} --json`)).out) as { parentId: string }
    expect(part.parentId).toBe(task.id)
    expect((await typed(`tasks list --parent ${beginning(task)}`)).out).toMatch(/part/)
    expect((await typed(`activity list --task ${task.key} --agent ${agent.slug}`)).code).toBe(0)
    expect((await home.run('memory', 'list', '--scope', 'project', '--scope-id', 'names')).out).toContain(
      memory.id.slice(0, 13),
    )
    const newer = await home.run(
      'decisions',
      'create',
      'z',
      '--decision',
      'z',
      '--supersedes',
      beginning(decision),
      '--json',
    )
    expect(JSON.parse(newer.out)).toMatchObject({ supersedes: decision.id })
  }, 300_000)

  test('list the matches of an ambiguous reference, and suggest names for an unknown one', async () => {
    const twins = async () =>
      [await made('/api/notes', { title: 'Twin one' }), await made('/api/notes', { title: 'Twin two' })] as const
    let [a, b] = await twins()
    // The first eight digits of an id are its time, and change once a minute.
    while (!b.id.startsWith(a.id.slice(0, 8))) {
      for (const { id } of [a, b]) await office.api('DELETE', `/api/notes/${id}`)
      ;[a, b] = await twins()
    }
    const refused = await home.run('notes', 'show', a.id.slice(0, 8))
    expect(refused.code).toBe(4)
    expect(refused.err).toMatch(
      /^tutti: Several ids begin with [\da-f]{8}, such as [\da-f-]{36} ".+" and [\da-f-]{36} ".+"\. Use a longer one\.\n$/,
    )
    for (const name of ['Twin team', 'Twin team']) await made('/api/teams', { name })
    expect((await home.run('teams', 'show', 'Twin team')).err).toMatch(
      /^tutti: Several teams match "Twin team": [\da-f-]{36}, [\da-f-]{36}\. Use the id of one\.\n$/,
    )
    expect((await home.run('projects', 'show', 'tuti')).err).toBe(
      'tutti: Project tuti not found. Did you mean tutti (Tutti)?\n',
    )
    expect((await home.run('tasks', 'create', 'x', '-p', 'TUTT')).err).toContain('Did you mean tutti (Tutti)?')
    expect((await home.run('search', 'x', '-p', 'tuti')).err).toContain('Did you mean tutti')
    expect((await home.run('link', 'tuti')).err).toContain('Did you mean tutti')
    expect((await home.run('notes', 'show', 'twin')).err).toMatch(
      /Did you mean twin-\S+ \(Twin two\) or twin-\S+ \(Twin one\)\?/,
    )
    expect((await home.run('tasks', 'lst')).err).toContain('Did you mean one of list, ls?')
  })

  test('use the team that tutti teams use chose on this computer', async () => {
    const { slug } = await made('/api/teams', { name: 'Chosen' })
    const other = await office.signedIn()
    expect((await other.run('teams', 'use', slug)).code).toBe(0)
    expect((await other.run('projects', 'create', 'In it', '--key', 'INI')).code).toBe(0)
    expect((await other.run('projects', 'list')).out).toContain('INI')
    expect((await home.run('projects', 'list')).out).not.toContain('INI')
    // A linked folder is about its own team.
    const linked = folder()
    await other.within(linked, ['link', 'INI'])
    await other.within(linked, ['tasks', 'create', 'There'])
    expect((await home.within(linked, ['tasks', 'show', 'INI-1'])).out).toContain('INI-1 There')
    expect((await other.within(work, ['tasks', 'list'])).code).toBe(0)
    expect((await home.within(linked, ['link', '--remove'])).code).toBe(0)
    expect((await home.within(linked, ['link'])).code).toBe(4)
  }, 300_000)

  test('clear optional fields with none', async () => {
    const key = (
      (await typed('tasks create x -l a -l b -a me --due 2027-01-31 -d y --json')).out.match(
        /"key": "(\S+)"/,
      ) as RegExpMatchArray
    )[1]
    const change = async (more: string) => JSON.parse((await typed(`tasks update ${key} ${more} --json`)).out) as object
    expect(await change('--add-label c --remove-label a')).toMatchObject({ labels: ['b', 'c'] })
    expect(await change('--due none --assignee none -d none')).toMatchObject({
      dueAt: null,
      assignee: null,
      description: null,
    })
    expect(await change('-l d')).toMatchObject({ labels: ['d'] })
  })
})

describe('a linked folder', () => {
  test('sets the default project, also in its subfolders', async () => {
    await home.run('projects', 'create', 'Other', '--key', 'OTH')
    const deep = join(work, 'src', 'deep')
    mkdirSync(deep, { recursive: true })
    const made = async (cwd: string, ...more: string[]) =>
      (
        JSON.parse((await home.within(cwd, ['tasks', 'create', 'Where am I', '--json', ...more])).out) as {
          key: string
        }
      ).key
    expect(await made(deep)).toStartWith('TUT-')
    expect(await made(deep, '-p', 'other')).toStartWith('OTH-')
    const keys = async (...more: string[]) =>
      (await home.within(deep, ['tasks', 'list', ...more])).out.match(/^[A-Z]{3}(?=-)/gm)
    expect(new Set(await keys())).toEqual(new Set(['TUT']))
    expect(new Set(await keys('-p', 'OTH'))).toEqual(new Set(['OTH']))
    expect(new Set(await keys('--all-projects'))).toEqual(new Set(['TUT', 'OTH']))
    expect((await home.run('tasks', 'create', 'x')).err).toContain('No project given')
  })

  test('contains no secret, is ignored for another server, and refused if damaged', async () => {
    const linked = readFileSync(join(work, '.tutti.json'), 'utf8')
    expect(Object.keys(JSON.parse(linked) as object)).toEqual(['server', 'team', 'project', 'slug'])
    const other = folder()
    writeFileSync(join(other, '.tutti.json'), linked.replace(office.url, 'https://tutti.example.com'))
    expect((await home.within(other, ['tasks', 'create', 'x'])).err).toContain('No project given')
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
