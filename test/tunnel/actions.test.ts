import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfirmationRequest } from '../../src/tunnel/actions/action.ts'
import { ActionRunner } from '../../src/tunnel/actions/action-runner.ts'
import { actionHandlers } from '../../src/tunnel/actions/handlers.ts'
import { ActionOutput, OutputTail } from '../../src/tunnel/actions/output.ts'
import type { ActionReport, ActionRequest, EndState } from '../../src/tunnel/frames.ts'
import { type MachineConfig, machineOffer, machineProblems } from '../../src/tunnel/machine-config.ts'
import { allowing } from '../support/timing.ts'

/** Actions on a machine, requested by a hostile server. */
const owner = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
const other = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a11'
const folder = mkdtempSync(join(tmpdir(), 'tutti-actions-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const print = { argv: ['printf', '%s|', '{first}', '{second}'], folder, params: {} as Record<string, object> }
const machine: MachineConfig = {
  server: 'http://127.0.0.1:1',
  tunnelId: owner,
  ownerId: owner,
  name: 'Box',
  slug: 'box',
  token: 'svc_tun_x',
  services: { web: { url: 'http://127.0.0.1:1' }, open: { url: 'http://127.0.0.1:1', who: ['anyone'] } },
  commands: {
    print: {
      ...print,
      params: {
        first: { type: 'string', maxLength: 20 },
        second: { type: 'string', optional: true, enum: ['--fast', 'slow'] },
      },
      who: ['members'],
    },
    env: { argv: ['env'], folder },
    where: { argv: ['pwd'], folder },
    fail: { argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'], folder },
    // A child that ignores the end of its parent.
    hang: {
      argv: ['sh', '-c', 'sh -c "trap \'\' TERM HUP; echo $$ > child; sleep 60" & sleep 60'],
      folder,
      // Long enough for the child to print its process id.
      seconds: Math.ceil(allowing(400) / 1000),
    },
    wait: { argv: ['sleep', '60'], folder },
    careful: { argv: ['touch', 'done'], folder, confirm: true },
    count: { argv: ['printf', '%s', '{n}'], folder, params: { n: { type: 'integer', minimum: 0, maximum: 9 } } },
    loud: {
      argv: [
        'sh',
        '-c',
        'i=0; while [ $i -lt 20000 ]; do echo "line $i ....................................................................................................."; i=$((i+1)); done',
      ],
      folder,
    },
    missing: { argv: ['/no/such/program'], folder },
  },
}

const user = (id: string, role: ActionRequest['user']['role'] = 'member') => ({ id, email: 'ada@example.com', role })

class Server {
  readonly reports: ActionReport[] = []
  readonly questions: { question: ConfirmationRequest; resolve(isAgreed: boolean): void }[] = []
  readonly actions = new ActionRunner({
    machine,
    handlers: actionHandlers,
    env: { PATH: process.env.PATH ?? '' },
    confirm: (question, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(false))
        this.questions.push({ question, resolve })
      }),
  })
  isBlocked = false

  constructor() {
    this.actions.connect(this)
  }

  report(report: ActionReport): void {
    this.reports.push(report)
  }

  of(id: string): ActionReport[] {
    return this.reports.filter((report) => report.id === id)
  }

  async until<T>(what: () => T | undefined | false): Promise<T> {
    for (;;) {
      const found = what()
      if (found) return found
      await Bun.sleep(2)
    }
  }

  send(type: string, params: object, more: Partial<ActionRequest> = {}): string {
    const id = Bun.randomUUIDv7()
    this.actions.accept({ id, type, params: params as ActionRequest['params'], user: user(owner), ...more })
    return id
  }

  async end(id: string): Promise<{ state: EndState; error?: string; result: unknown; lines: string[] }> {
    const ends = ['succeeded', 'failed', 'refused', 'cancelled', 'timed_out']
    const last = await this.until(() => this.of(id).find(({ state }) => state && ends.includes(state)))
    const all = this.of(id)
    const parts = all.flatMap(({ part }) => part ?? []).join('')
    return {
      state: last.state as EndState,
      ...(last.error && { error: last.error }),
      result: parts ? JSON.parse(parts) : all.find(({ result }) => result !== undefined)?.result,
      lines: all.flatMap(({ lines }) => lines ?? []).map(([, text]) => text),
    }
  }

  ask(type: string, params: object, more: Partial<ActionRequest> = {}) {
    return this.end(this.send(type, params, more))
  }

  run(command: string, params?: object, more: Partial<ActionRequest> = {}) {
    return this.ask('run_command', { command, ...(params && { params }) }, more)
  }
}

let server: Server
beforeAll(() => {
  server = new Server()
})

describe('an action on a machine', () => {
  test('passes each parameter as one argument, without a shell', async () => {
    const evil = '$(id) `id` ;*|&"\''
    expect(await server.run('print', { first: evil, second: 'slow' })).toMatchObject({
      state: 'succeeded',
      result: { exitCode: 0 },
      lines: [`${evil}|slow|`],
    })
    expect((await server.run('print', { first: 'a b' })).lines).toEqual(['a b|'])
    expect((await server.run('print', { first: 'x', second: '--fast' })).lines).toEqual(['x|--fast|'])
    expect((await server.run('count', { n: 7 })).lines).toEqual(['7'])
  })

  test('runs in its folder with a clean environment', async () => {
    process.env.SECRET_OF_THE_TUNNEL = 'x'
    const { lines } = await server.run('env')
    delete process.env.SECRET_OF_THE_TUNNEL
    expect(lines.join('\n')).not.toContain('SECRET_OF_THE_TUNNEL')
    expect(lines).toContain(`TUTTI_USER=${owner}`)
    expect((await server.run('where')).lines[0]).toEndWith(folder.replace(/^.*\//, ''))
  })

  test('reports how it failed', async () => {
    const failed = await server.run('fail')
    expect(failed).toMatchObject({ state: 'failed', result: { exitCode: 3 }, error: 'Ended with exit code 3.' })
    expect(failed.lines.toSorted()).toEqual(['err', 'out'])
    expect(await server.run('missing')).toMatchObject({ state: 'failed', error: expect.stringContaining('ENOENT') })
  })

  test('ends at its time limit with all its processes', async () => {
    expect(await server.run('hang')).toMatchObject({ state: 'timed_out' })
    const child = Number(readFileSync(join(folder, 'child'), 'utf8'))
    await server.until(() => !isRunning(child))
  })

  test('can be cancelled by its caller and the owner only', async () => {
    const id = server.send('run_command', { command: 'wait' })
    expect((await server.ask('cancel', { actionId: id }, { user: user(other) })).state).toBe('refused')
    expect(await server.ask('cancel', { actionId: id })).toMatchObject({ state: 'succeeded' })
    expect(await server.end(id)).toMatchObject({ state: 'cancelled', error: 'Cancelled by ada@example.com.' })
    expect((await server.ask('cancel', { actionId: id })).state).toBe('failed')
  })

  test('runs beside at most three others', async () => {
    const ids = [1, 2, 3, 4].map(() => server.send('run_command', { command: 'wait' }))
    expect(await server.run('where')).toMatchObject({ state: 'failed', error: expect.stringContaining('busy') })
    expect((await server.ask('ping', {})).state).toBe('succeeded')
    for (const actionId of ids) await server.ask('cancel', { actionId })
    await Promise.all(ids.map((id) => server.end(id)))
    expect((await server.run('where')).state).toBe('succeeded')
  })

  test('checks only services that the caller can use', async () => {
    expect((await server.ask('check_local', {})).result).toEqual({
      services: [
        { name: 'web', ok: false },
        { name: 'open', ok: false },
      ],
    })
    expect((await server.ask('check_local', {}, { user: user(other) })).result).toEqual({
      services: [{ name: 'open', ok: false }],
    })
    expect((await server.ask('check_local', { service: 'web' }, { user: user(other) })).state).toBe('refused')
  })
})

describe('a hostile server', () => {
  const refused = async (type: string, params: object, more: Partial<ActionRequest> = {}) =>
    expect([type, params, (await server.ask(type, params, more)).state]).toEqual([type, params, 'refused'])

  test('can run nothing that tunnel.json does not name', async () => {
    for (const command of ['nothing', 'constructor', '__proto__', 'sh', '']) await refused('run_command', { command })
    for (const type of ['exec', 'constructor', '__proto__', 'list_files']) await refused(type, {})
    await refused('run_command', { command: 'where', argv: ['id'] })
    await refused('run_command', { command: 'where', params: { extra: '1' } })
    await refused('sync_workspace', { workspace: 'nothing' })
    await refused('ping', { extra: 1 })
  })

  test('cannot pass undeclared parameters', async () => {
    const bad: [string, object][] = [
      ['print', {}],
      ['print', { first: 1 }],
      ['print', { first: 'x'.repeat(21) }],
      ['print', { first: '--upload-pack=id' }],
      ['print', { first: '-' }],
      ['print', { first: 'x', second: '--other' }],
      ['print', { first: 'a\0b' }],
      ['print', { first: ['a'] }],
      ['count', { n: '1' }],
      ['count', { n: 10 }],
      ['count', { n: -1 }],
      ['count', { n: 1.5 }],
    ]
    for (const [command, params] of bad) await refused('run_command', { command, params })
    await refused('run_command', { command: 'print', params: { first: 'x', constructor: 'y' } })
  })

  test('cannot act for other people, because the machine knows its owner', async () => {
    await refused('run_command', { command: 'where' }, { user: user(other) })
    await refused('run_command', { command: 'where' }, { user: user(other, 'owner') })
    await refused('run_command', { command: 'print', params: { first: 'x' } }, { user: user(other, 'viewer') })
    await refused('ping', {}, { user: user(owner, 'viewer') })
    expect((await server.run('print', { first: 'x' }, { user: user(other) })).state).toBe('succeeded')
  })

  test('cannot skip the confirmation at the machine', async () => {
    const id = server.send('run_command', { command: 'careful' })
    const asked = await server.until(() => server.questions.at(-1))
    await server.until(() => server.of(id).some(({ state }) => state === 'awaiting_confirmation'))
    expect(asked.question).toMatchObject({ id, what: 'touch done', user: { email: 'ada@example.com' } })
    expect(existsSync(join(folder, 'done'))).toBe(false)
    asked.resolve(false)
    expect(await server.end(id)).toMatchObject({ state: 'refused' })
    expect(existsSync(join(folder, 'done'))).toBe(false)
    const again = server.send('run_command', { command: 'careful' })
    ;(await server.until(() => server.questions.find(({ question }) => question.id === again))).resolve(true)
    expect(await server.end(again)).toMatchObject({ state: 'succeeded' })
    expect(existsSync(join(folder, 'done'))).toBe(true)
  })

  test('is refused if no one can confirm', async () => {
    const alone = new ActionRunner({ machine, handlers: actionHandlers })
    const reports: ActionReport[] = []
    alone.connect({ isBlocked: false, report: (one) => void reports.push(one) })
    alone.accept({ id: owner, type: 'run_command', params: { command: 'careful' }, user: user(owner) })
    await server.until(() => reports.some(({ state }) => state === 'refused'))
  })
})

describe('output of an action', () => {
  test('keeps its end, and skips what the connection cannot carry', async () => {
    const id = server.send('run_command', { command: 'loud' })
    server.isBlocked = true
    await server.until(() => server.actions.running.includes(id))
    await Bun.sleep(0)
    server.isBlocked = false
    const { lines, state } = await server.end(id)
    expect(state).toBe('succeeded')
    expect(lines.at(-1)).toStartWith('line 19999 ')
  })

  test('waits for the next connection', async () => {
    server.actions.disconnect(server)
    const id = server.send('run_command', { command: 'where' })
    expect(server.actions.running).toContain(id)
    await Bun.sleep(0)
    expect(server.of(id)).toEqual([])
    server.actions.connect(server)
    expect((await server.end(id)).state).toBe('succeeded')
    await server.until(() => !server.actions.running.includes(id))
  })

  test('is split into lines without control characters', () => {
    const output = new ActionOutput()
    output.append('out', 'one\r\ntw')
    output.append('err', 'other\n')
    output.append('out', 'o\x1b[31m\nprogress 1\rprogress 2\r')
    output.append('out', `\n${'x'.repeat(4500)}`)
    output.end()
    expect(output.takeBatch().map(([, text]) => (text.length > 30 ? text.length : text))).toEqual([
      'one',
      'other',
      'two',
      'progress 1',
      'progress 2',
      2000,
      2000,
      500,
    ])
    expect(output.takeBatch()).toEqual([])
  })

  test('is kept by the server up to its last megabyte', () => {
    const tail = new OutputTail()
    for (let n = 1; n <= 1100; n++) expect(tail.add([n, `${n} ${'x'.repeat(1000)}`])).toBe(true)
    expect(tail.add([5, 'again'])).toBe(false)
    expect(tail.isCut).toBe(true)
    expect(tail.text.length).toBeLessThanOrEqual(1 << 20)
    expect(tail.text).toContain('\n1100 x')
    expect(tail.text).not.toContain('\n1 x')
  })
})

describe('sync_workspace', () => {
  const git = (cwd: string, ...args: string[]) => {
    const env = { PATH: process.env.PATH ?? '', HOME: folder, GIT_CONFIG_GLOBAL: '/dev/null' }
    const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'init.defaultBranch=main']
    const { exitCode, stdout, stderr } = Bun.spawnSync(['git', ...who, ...args], { cwd, env })
    if (exitCode !== 0) throw new Error(stderr.toString())
    return stdout.toString().trim()
  }

  test('fast-forwards a working copy, and never overwrites local commits', async () => {
    const [from, to] = [mkdtempSync(join(folder, 'from-')), join(folder, 'to')]
    git(from, 'init', '-q')
    git(from, 'commit', '-q', '--allow-empty', '-m', 'one')
    git(folder, 'clone', '-q', from, to)
    writeFileSync(join(from, 'file'), 'x')
    git(from, 'add', '.')
    git(from, 'commit', '-q', '-m', 'two')
    machine.workspaces = { app: { folder: to } }
    const synced = await server.ask('sync_workspace', { workspace: 'app' })
    expect(synced).toMatchObject({ state: 'succeeded', result: { after: git(from, 'rev-parse', 'HEAD') } })
    expect(existsSync(join(to, 'file'))).toBe(true)
    git(to, 'commit', '-q', '--allow-empty', '-m', 'mine')
    git(from, 'commit', '-q', '--allow-empty', '-m', 'theirs')
    expect(await server.ask('sync_workspace', { workspace: 'app' })).toMatchObject({ state: 'failed' })
    await server
      .ask('sync_workspace', { workspace: 'app' }, { user: user(other) })
      .then(({ state }) => expect(state).toBe('refused'))
  })
})

describe('tunnel.json', () => {
  const problems = (more: object) => machineProblems({ ...machine, commands: {}, workspaces: {}, ...more })
  test('is refused with what is wrong with a command', () => {
    expect(machineProblems(machine)).toEqual([])
    const command = { argv: ['x', '{a}'], folder: '/tmp', params: { a: { type: 'string' } } }
    const of = (more: object) => problems({ commands: { c: { ...command, ...more } } }).length > 0
    expect(of({})).toBe(false)
    expect(of({ argv: ['{a}', '{a}'] })).toBe(true)
    expect(of({ argv: ['x', '{b}'] })).toBe(true)
    expect(of({ argv: ['x'] })).toBe(true)
    expect(of({ folder: 'relative' })).toBe(true)
    expect(of({ who: ['anyone'] })).toBe(true)
    expect(of({ shell: true })).toBe(true)
    expect(of({ seconds: 601 })).toBe(true)
    expect(of({ params: { a: { type: 'string', pattern: '(' } } })).toBe(true)
    expect(problems({ mcp: { fs: { argv: ['x'], url: 'http://127.0.0.1:1' } } })).not.toEqual([])
    expect(problems({ mcp: { fs: { url: 'http://10.0.0.1:80' } } })).not.toEqual([])
    expect(problems({ mcp: { fs: { argv: ['x'] } } })).toEqual([])
  })

  test('offers commands with a schema, without their argv', () => {
    const { commands } = machineOffer(machine)
    expect(commands?.find(({ name }) => name === 'print')).toEqual({
      name: 'print',
      who: ['members'],
      confirm: false,
      params: {
        type: 'object',
        properties: {
          first: { type: 'string', maxLength: 20 },
          second: { type: 'string', enum: ['--fast', 'slow'] },
        },
        required: ['first'],
        additionalProperties: false,
      },
    })
    expect(JSON.stringify(commands)).not.toContain(folder)
  })
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
