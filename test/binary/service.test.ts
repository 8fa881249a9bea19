import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serviceManager } from '../../cli/operating/service-managers.ts'
import { TunnelSession } from '../../src/tunnel/session.ts'
import { BINARY, folder, freePort, onTerminal, type Run, tutti } from '../support/binary.ts'
import { installed, Systemd } from '../support/systemd.ts'

const root = process.getuid?.() === 0
const has = (name: string) => Bun.which(name) !== null
/** What systemd, shells and XML each read as something else. */
const AWKWARD = `a b%h $HOME "q" 'x' \\ <&> é`
/** systemd starts nothing whose path has quotes or a backslash. */
const BIN = 'a b%h $HOME <&> é'

describe('the unit file', () => {
  test('is printed with --print, and nothing is written', async () => {
    const home = folder()
    const env = { HOME: home, XDG_CONFIG_HOME: join(home, 'config') }
    const dir = join(folder(), 'data')
    const { code, out, err } = await tutti(['service', 'install', '--print', '--port', '4300', '--data-dir', dir], {
      env,
    })
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain(`ExecStart="${BINARY}" "serve" "--data-dir" "${dir}" "--port" "4300"\n`)
    expect(out).toContain('Restart=on-failure')
    expect(out).toContain('NoNewPrivileges=yes')
    expect([existsSync(env.XDG_CONFIG_HOME), existsSync(dir)]).toEqual([false, false])
    expect(
      (await onTerminal(['service', 'install', '--print', '--port', '4300', '--data-dir', dir], { env })).shown,
    ).toBe(out)
  })

  test('contains host, port and settings file; other environment settings are refused', async () => {
    const dir = folder()
    const file = join(folder(), 'my settings.env')
    writeFileSync(file, 'LOG_LEVEL=warn\n')
    const print = ['service', 'install', '--print', '--data-dir', dir]
    const { out } = await tutti(print, { env: { PORT: '4301', CONFIG_FILE: file } })
    expect(out).toContain(`"--config" "${file}" "--port" "4301"`)
    const url = 'postgres://me:very-secret@db.example/x'
    for (const words of [print, ['service', 'install', '--data-dir', dir]]) {
      const refused = await tutti(words, {
        env: { DATABASE_URL: url, SMTP_URL: 'smtp://mail.example', MAIL_FROM: 'a@b.example', HOME: folder() },
      })
      expect([refused.code, refused.out]).toEqual([2, ''])
      expect(refused.err).toContain('DATABASE_URL, SMTP_URL, MAIL_FROM')
      expect(refused.err).toContain(join(dir, 'config.env'))
      expect(refused.err).not.toContain('very-secret')
    }
    // Where it belongs it is no problem, and stays out of the unit.
    writeFileSync(join(dir, 'config.env'), `DATABASE_URL=${url}\n`)
    const kept = await tutti(print)
    expect([kept.code, kept.out.includes('very-secret')]).toEqual([0, false])
  })

  test.skipIf(!has('systemd-analyze'))(
    'passes systemd-analyze for root and for users, with unusual names',
    async () => {
      const dir = join(folder(), AWKWARD)
      const binary = await installed(BIN)
      for (const uid of [0, 1000]) {
        const { unit } = serviceManager('linux', '/home/ada', uid)
        const text = unit([binary, 'serve', '--data-dir', dir], uid === 0 ? 'daemon' : undefined)
        const file = join(folder(), 'tutti.service')
        writeFileSync(file, text)
        const checked = Bun.spawnSync(
          ['systemd-analyze', 'verify', '--man=no', ...(uid === 0 ? [] : ['--user']), file],
          {
            env: { PATH: process.env.PATH ?? '', XDG_RUNTIME_DIR: folder(), HOME: folder() },
          },
        )
        const said = checked.stderr.toString()
        expect(said.split('\n').filter((line) => line.includes('tutti.service'))).toEqual([])
        writeFileSync(file, text.replace('Restart=on-failure', 'Restart=sometimes'))
        const spoilt = Bun.spawnSync(['systemd-analyze', 'verify', '--man=no', file], {
          env: { PATH: process.env.PATH ?? '' },
        })
        expect(spoilt.stderr.toString()).toContain('tutti.service')
      }
    },
  )

  test.skipIf(!has('plistutil'))('for launchd says the same, as a parser reads it', async () => {
    const { unit, file } = serviceManager('darwin', '/Users/ada', 501)
    expect(file).toBe('/Users/ada/Library/LaunchAgents/dev.tutti.server.plist')
    const command = ['/opt/tutti', 'serve', '--data-dir', AWKWARD]
    const path = join(folder(), 'one.plist')
    writeFileSync(path, unit(command))
    // Through the binary form, which holds values and nothing of how they were written.
    const binary = join(folder(), 'one.bin')
    Bun.spawnSync(['plistutil', '-f', 'bin', '-i', path, '-o', binary])
    const read = Bun.spawnSync(['plistutil', '-f', 'xml', '-i', binary])
      .stdout.toString()
      .replace(/\s*\n\s*/g, '')
    const texts = command.map(
      (text) => `<string>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</string>`,
    )
    expect(read).toContain(`<key>ProgramArguments</key><array>${texts.join('')}</array><key>RunAtLoad</key><true/>`)
    expect(read).toContain('<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>')
    expect(read).toContain(`<key>Umask</key><integer>${0o077}</integer>`)
    expect(read).toContain('<key>StandardErrorPath</key><string>/Users/ada/Library/Logs/tutti.log</string>')
    const system = serviceManager('darwin', '/var/root', 0)
    expect([
      system.file,
      system.start[2],
      system.unit(command, 'ada').includes('<key>UserName</key><string>ada</string>'),
    ]).toEqual(['/Library/LaunchDaemons/dev.tutti.server.plist', 'system', true])
  })
})

describe.skipIf(!root || !has('systemctl') || !has('unshare'))('with a real systemd', () => {
  let systemd: Systemd
  let binary: string
  const dir = join(folder(), AWKWARD)
  const port = freePort()
  const at = ['--data-dir', dir]
  const service = (words: string[], env: Record<string, string> = {}): Promise<Run> =>
    systemd.tutti(['service', ...words], env, binary)
  const install = (...words: string[]) => service(['install', '--port', String(port), ...at, ...words])
  const health = () =>
    fetch(`http://127.0.0.1:${port}/health/ready`).then(
      (r) => r.status,
      () => 0,
    )
  beforeAll(async () => {
    binary = await installed(BIN)
    systemd = await Systemd.start()
    mkdirSync(dir, { mode: 0o700 })
    writeFileSync(join(dir, 'config.env'), 'DB_MIN_FREE_MB=0\n', { mode: 0o600 })
  })
  afterAll(() => systemd.stop())

  test('status says that no service is installed', async () => {
    const told = await service(['status', '--json', ...at])
    expect([told.code, JSON.parse(told.out)]).toMatchObject([
      4,
      { installed: false, running: false, file: null, pid: null },
    ])
    expect(told.err).toContain('tutti service install')
    const gone = await service(['uninstall'])
    expect([gone.code, gone.out]).toEqual([4, ''])
  })

  test('install starts the server and prints its address; systemd restarts it after a kill', async () => {
    const done = await install()
    expect(done.code).toBe(0)
    expect(done.err).toContain('Wrote /etc/systemd/system/tutti.service\n')
    expect(done.out).toContain(`The server is running at http://localhost:${port}, and starts again`)
    expect(done.err).toContain('The server runs as root.')
    expect(await health()).toBe(200)
    expect((await systemd.run(['systemctl', 'is-enabled', 'tutti'])).out).toBe('enabled\n')
    const status = JSON.parse((await service(['status', '--json', ...at])).out)
    expect(status).toMatchObject({ installed: true, running: true, url: `http://localhost:${port}` })
    const people = await service(['status', ...at])
    expect([people.code, people.err]).toEqual([0, ''])
    expect(people.out).toMatch(/running +yes\n/)
    await systemd.run(['systemctl', 'kill', '--signal=KILL', 'tutti'])
    let again = status
    while (again.pid === status.pid || !again.url) {
      await Bun.sleep(100)
      again = JSON.parse((await service(['status', '--json', ...at])).out)
    }
    expect(again).toMatchObject({ running: true, url: `http://localhost:${port}` })
    expect(again.pid).not.toBe(status.pid)
  })

  test('install is repeatable, and replaces a different unit file only with --yes', async () => {
    expect((await install()).code).toBe(0)
    const unit = (await systemd.run(['cat', '/etc/systemd/system/tutti.service'])).out
    const refused = await install('--host', '127.0.0.1')
    expect([refused.code, refused.out]).toEqual([5, ''])
    expect(refused.err).toContain('--yes')
    expect((await systemd.run(['cat', '/etc/systemd/system/tutti.service'])).out).toBe(unit)
    expect((await install('--host', '127.0.0.1', '--yes')).code).toBe(0)
    expect((await systemd.run(['cat', '/etc/systemd/system/tutti.service'])).out).toContain('"--host" "127.0.0.1"')
    expect(await health()).toBe(200)
  })

  test('uninstall stops the server and keeps the data', async () => {
    const done = await service(['uninstall'])
    expect([done.code, done.err, done.out]).toEqual([
      0,
      '',
      'Stopped the service and removed /etc/systemd/system/tutti.service. The data is unchanged.\n',
    ])
    expect(await health()).toBe(0)
    expect(existsSync(join(dir, 'db', 'PG_VERSION'))).toBe(true)
    expect((await systemd.run(['systemctl', 'is-enabled', 'tutti'])).code).not.toBe(0)
  })

  test('of a service that runs as another user names a data folder which that user owns', async () => {
    const theirs = join(folder(), 'theirs')
    chmodSync(join(theirs, '..'), 0o755)
    const done = await service(['install', '--user', 'daemon', '--port', String(port), '--data-dir', theirs, '--json'])
    expect([done.code, JSON.parse(done.out)]).toMatchObject([
      0,
      { file: '/etc/systemd/system/tutti.service', pid: expect.any(Number) },
    ])
    expect(done.err).not.toContain('as root')
    const { pid } = JSON.parse((await service(['status', '--json', '--data-dir', theirs])).out)
    expect((await systemd.run(['stat', '-c', '%U', `/proc/${pid}`])).out).toBe('daemon\n')
    const gone = await service(['uninstall', '--json'])
    expect([gone.code, JSON.parse(gone.out)]).toEqual([0, { file: '/etc/systemd/system/tutti.service', removed: true }])
    const refused = await service(['install', '--user', 'daemon', ...at])
    expect(refused.code).toBe(3)
    expect(refused.err).toContain('chown')
    const stranger = await service(['install', '--user', 'no-such-user', ...at])
    expect([stranger.code, existsSync('/etc/systemd/system/tutti.service')]).toEqual([6, false])
  })

  test('install --tunnel keeps the tunnel online after a kill, until uninstall', async () => {
    const server = fakeServer()
    const config = join(folder(), AWKWARD)
    const env = { XDG_CONFIG_HOME: config }
    const missing = await service(['install', '--tunnel'], env)
    expect([missing.code, missing.err.includes('has no tunnel yet')]).toEqual([2, true])
    mkdirSync(join(config, 'tutti'), { recursive: true, mode: 0o700 })
    const id = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
    const machine = { tunnelId: id, ownerId: id, name: 'Box', slug: 'box', token: 'svc_tun_x', services: {} }
    writeFileSync(join(config, 'tutti', 'tunnel.json'), JSON.stringify({ server: server.url, ...machine }), {
      mode: 0o600,
    })
    const done = await service(['install', '--tunnel', '--json'], env)
    expect([done.code, done.err]).toEqual([0, 'Wrote /etc/systemd/system/tutti-tunnel.service\n'])
    const { pid, ...said } = JSON.parse(done.out)
    expect(said).toEqual({ file: '/etc/systemd/system/tutti-tunnel.service', tunnel: 'box', online: true })
    const main = async () =>
      Number(/\d+/.exec((await systemd.run(['systemctl', 'show', '-p', 'MainPID', 'tutti-tunnel'])).out)?.[0])
    expect(await main()).toBe(pid)
    const connections = server.opened()
    await systemd.run(['systemctl', 'kill', '--signal=KILL', 'tutti-tunnel'])
    while (server.opened() === connections) await Bun.sleep(50)
    expect(await main()).not.toBe(pid)
    // Once more changes nothing but the process; and a second one beside it is refused.
    expect(JSON.parse((await service(['install', '--tunnel', '--json'], env)).out).online).toBe(true)
    const beside = await systemd.tutti(['tunnel', 'up'], env, binary)
    expect([beside.code, beside.err.includes('A tunnel is already running on this machine.')]).toEqual([5, true])
    const gone = await service(['uninstall', '--tunnel', '--json'], env)
    expect(JSON.parse(gone.out)).toEqual({ file: '/etc/systemd/system/tutti-tunnel.service', removed: true })
    expect((await systemd.run(['systemctl', 'is-active', 'tutti-tunnel'])).code).not.toBe(0)
    // install does not take over a tunnel that was started by hand.
    const byHand = systemd.tutti(['tunnel', 'up', '--json'], env, binary)
    const before = server.opened()
    while (server.opened() === before) await Bun.sleep(50)
    const refused = await service(['install', '--tunnel'], env)
    expect([refused.code, refused.err.includes('tutti tunnel down')]).toEqual([5, true])
    expect((await systemd.tutti(['tunnel', 'down'], env, binary)).code).toBe(0)
    expect((await byHand).code).toBe(0)
    await server.stop()
  })

  test('install refuses invalid settings before it writes anything', async () => {
    const bad = join(folder(), 'data')
    mkdirSync(bad, { mode: 0o700 })
    writeFileSync(join(bad, 'config.env'), 'NO_SUCH_SETTING=1\n')
    const refused = await service(['install', '--data-dir', bad])
    expect([refused.code, refused.out, refused.err.includes('NO_SUCH_SETTING')]).toEqual([2, '', true])
    expect((await service(['status', ...at])).code).toBe(4)
  })
})

/** The part of a server that a machine connects to. */
function fakeServer() {
  let opened = 0
  const server = Bun.serve<{ session?: TunnelSession }>({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request, self) {
      if (request.url.endsWith('/api/tunnels/reverse') && self.upgrade(request, { data: {} })) return undefined
      return Response.json({ leaseUntil: '2026-11-15T09:30:00.000Z', drain: false })
    },
    websocket: {
      open(socket) {
        opened++
        const session = new TunnelSession(
          'server',
          { send: (bytes) => socket.send(bytes) !== 0, close: () => undefined },
          {},
        )
        socket.data.session = session
        const id = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
        session.settings({ generation: opened, tunnelId: id, ownerId: id, slug: 'box' })
      },
      message: (socket, message) => socket.data.session?.receive(message as Buffer),
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, opened: () => opened, stop: () => server.stop(true) }
}

test('tutti service reports a missing service manager', async () => {
  const bin = folder()
  const home = folder()
  const env = { PATH: bin, HOME: home, XDG_CONFIG_HOME: join(home, 'config') }
  const status = await tutti(['service', 'status', '--data-dir', folder()], { env })
  expect([status.code, status.out]).toEqual([4, ''])
  const shown = await onTerminal(['service', 'status', '--data-dir', folder()], {
    env: { HOME: home, XDG_CONFIG_HOME: join(home, 'config') },
  })
  expect([shown.code, Bun.stripANSI(shown.shown)]).toEqual([
    4,
    'tutti: The service is not installed. Install it: tutti service install\n',
  ])
  expect((await tutti(['service', 'install', '--sideways'])).code).toBe(2)
  expect(readFileSync(BINARY).length).toBeGreaterThan(0)
})
