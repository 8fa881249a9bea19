import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { $ } from 'bun'
import { BINARY, folder, type Run } from '../support/binary.ts'

const root = join(import.meta.dir, '../..')
const script = join(root, 'install.sh')
/** As on a fresh machine: npm and the usual tools, no Bun. */
const plain = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folder() }

/** Only the tools of busybox, which has its own wget and no curl. */
const busybox = folder()
for (const name of ['sh', 'wget', 'sha256sum', 'awk', 'cut', 'tr', 'cp', 'mv', 'rm', 'mkdir', 'mktemp', 'chmod', 'dirname', 'basename', 'cat', 'grep', 'uname', 'sysctl'])
  symlinkSync(Bun.which('busybox') ?? '/bin/busybox', join(busybox, name)) // biome-ignore format: a list

const shells: Record<string, { shell: string[]; path: string }> = {
  dash: { shell: ['dash'], path: plain.PATH },
  busybox: { shell: [join(busybox, 'sh')], path: busybox },
  'bash --posix': { shell: ['bash', '--posix'], path: plain.PATH },
}

interface How {
  shell?: keyof typeof shells
  env?: Record<string, string | undefined>
  /** Commands that come before those of the machine. */
  fakes?: Record<string, string>
  /** As `curl … | sh -s --` does it. */
  piped?: boolean
}

async function install(
  args: string[],
  { shell = 'dash', env = {}, fakes, piped }: How = {},
): Promise<Run & { at: string; installed: boolean }> {
  const at = folder()
  const { shell: words, path } = shells[shell] as (typeof shells)[string]
  const bin = folder()
  for (const [name, text] of Object.entries(fakes ?? {}))
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  const child = Bun.spawn([...words, ...(piped ? ['-s', '--'] : [script]), '--prefix', at, ...args], {
    cwd: folder(),
    env: { ...plain, PATH: `${bin}:${path}`, ...env },
    stdin: piped ? Bun.file(script) : 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  const installed = existsSync(join(at, 'bin/tutti'))
  // Nothing half done is ever left behind.
  if (existsSync(join(at, 'bin'))) expect(readdirSync(join(at, 'bin'))).toEqual(installed ? ['tutti'] : [])
  return { code, out, err, at, installed }
}

const sumOf = (text: string | Uint8Array) => new Bun.CryptoHasher('sha256').update(text).digest('hex')
/** Stands in for the real one where only the way it takes matters. */
const program = '#!/bin/sh\necho 9.9.9\n'

test('install.sh builds and installs a checkout if only npm is available', async () => {
  const checkout = folder('tutti-checkout-')
  await $`git ls-files -z | xargs -0 cp --parents -t ${checkout}`.cwd(root).quiet()
  // Made from the same files when the packages were installed here, which has shown that they can be: hashes tell.
  const made = ['seed.tar.zst', 'seed.hash', 'web.pack', 'web.hash'].map((name) => `.cache/${name}`)
  await $`cp --parents -t ${checkout} ${made}`.cwd(root).quiet()
  const prefix = folder()
  // What this machine has downloaded before is not downloaded again: the network may fail or stall.
  const cache = (await $`${process.execPath} pm cache`.cwd(root).quiet().text()).trim()
  const known = {
    BUN_INSTALL_CACHE_DIR: cache,
    npm_config_cache: join(process.env.HOME ?? '/', '.npm'),
    npm_config_prefer_offline: 'true',
  }
  const installed = await $`sh ${join(checkout, 'install.sh')} --prefix ${prefix}`
    .env({ ...process.env, ...plain, ...known })
    .quiet()
    .nothrow()
  expect([installed.exitCode, installed.exitCode ? installed.stderr.toString() : '']).toEqual([0, ''])
  expect((await $`${join(prefix, 'bin/tutti')} --version`.quiet().text()).trim()).toMatch(/^\d+\.\d+\.\d+$/)
}, 300_000)

describe.each(Object.keys(shells))('install.sh under %s', (shell) => {
  test('verifies a prebuilt binary with the checksum file beside it', async () => {
    const from = folder()
    const file = join(from, 'tutti-linux')
    // The real one under one shell, because each shell would copy it and sum it up several times.
    if (shell === 'dash') await $`cp ${BINARY} ${file}`
    else writeFileSync(file, program)
    const sum = (await $`sha256sum ${file}`.text()).split(' ')[0] as string
    writeFileSync(join(from, 'SHA256SUMS'), `${'0'.repeat(64)}  tutti\n${sum} *tutti-linux\n`)
    const good = await install(['--file', file], { shell })
    expect(good).toMatchObject({ code: 0, err: '', installed: true })
    expect(good.out).toContain(`SHA-256 matches ${join(from, 'SHA256SUMS')}\nInstalled ${join(good.at, 'bin/tutti')} (`)
    expect(good.out).toContain('is not in your PATH')
    expect((await install([`--file=${file}`, '--sha256', sum.toUpperCase()], { shell })).code).toBe(0)
    for (const line of [`${'0'.repeat(64)}  tutti-linux\n`, `${sum}  something-else\n`]) {
      writeFileSync(join(from, 'SHA256SUMS'), line)
      expect(await install(['--file', file], { shell })).toMatchObject({
        code: 1,
        installed: false,
        err: expect.stringContaining('REFUSED') as string,
      })
    }
  }, 300_000)

  test('changes nothing if the binary does not run or cannot be written', async () => {
    const from = folder()
    const broken = join(from, 'broken')
    writeFileSync(broken, 'MZ no program\n')
    const refused = await install(['--file', broken], { shell })
    expect([refused.code, refused.installed]).toEqual([1, false])
    expect(refused.err).toMatch(/WARNING: .* was not verified .*\n.*does not run on Linux/)
    const good = join(from, 'good')
    writeFileSync(good, program)
    const blocked = join(from, 'blocked')
    writeFileSync(blocked, '')
    for (const [args, env, code, said] of [
      [['--file', good, '--prefix', blocked], {}, 1, 'choose another place with --prefix'],
      [['--file', good, '--prefix', '/proc'], {}, 1, 'choose another place with --prefix'],
      [['--file', join(from, 'nothing')], {}, 1, 'file not found'],
      [['--frob'], {}, 2, 'unknown option: --frob'],
      [['--prefix'], {}, 2, '--prefix needs a value'],
      [['--sha256', 'x'], {}, 2, '--sha256 goes with'],
      [['--file', good, '--url', 'https://x'], {}, 2, 'either --file or --url'],
    ] as const)
      expect([args, await install([...args], { shell, env })]).toEqual([
        args,
        expect.objectContaining({ code, installed: false, err: expect.stringContaining(said) as string }) as never,
      ])
    const { shell: words, path } = shells[shell] as (typeof shells)[string]
    const homeless = Bun.spawnSync([...words, script, '--file', good], { env: { PATH: path } })
    expect([homeless.exitCode, homeless.stderr.toString()]).toEqual([1, expect.stringContaining('HOME is not set')])
  }, 300_000)

  test('starts the server with --serve, and replaces a running binary without stopping it', async () => {
    const first = join(folder(), 'first')
    writeFileSync(first, '#!/bin/sh\n[ "$1" = --version ] && { echo 1; exit; }\necho "$@"\n')
    const one = await install(['--file', first, '--serve', '--', '--port', '8080'], { shell })
    expect(one.out).toEndWith('serve --port 8080\n')
    await $`cp ${Bun.which('sleep') as string} ${join(one.at, 'bin/tutti')}`
    const running = Bun.spawn([join(one.at, 'bin/tutti'), '600'])
    const again = await install(['--file', first, '--prefix', one.at], { shell })
    expect([again.code, again.err.includes('WARNING')]).toEqual([0, true])
    expect(running.exitCode).toBeNull()
    running.kill()
    expect(readFileSync(join(one.at, 'bin/tutti'), 'utf8')).toContain('--version')
  }, 300_000)
})

describe('install.sh from a release', () => {
  let release: ReturnType<typeof Bun.serve>
  let asked: string[] = []
  /** The one for this machine. */
  const own = `tutti-linux-${process.arch === 'arm64' ? 'arm64' : `x64${/\bavx2\b/.test(readFileSync('/proc/cpuinfo', 'utf8')) ? '' : '-baseline'}`}`
  beforeAll(() => {
    const sums = (name: string, text = program) => new Response(`${sumOf('other')}  other\n${sumOf(text)}  ${name}\n`)
    const routes: Record<string, () => Response> = {
      [`/good/${own}`]: () => new Response(program),
      '/good/SHA256SUMS': () => sums(own),
      [`/wrong/${own}`]: () => new Response(`${program}# changed\n`),
      '/wrong/SHA256SUMS': () => sums(own),
      [`/unnamed/${own}`]: () => new Response(program),
      '/unnamed/SHA256SUMS': () => sums('tutti-plan9'),
      [`/bare/${own}`]: () => new Response(program),
      '/missing/SHA256SUMS': () => sums(own),
      [`/moved/${own}`]: () => Response.redirect(`/good/${own}`, 302),
      '/moved/SHA256SUMS': () => Response.redirect('/good/SHA256SUMS', 301),
      '/cut/SHA256SUMS': () => sums(own),
    }
    release = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        const { pathname } = new URL(request.url)
        asked.push(pathname)
        return routes[pathname]?.() ?? new Response('<h1>not here</h1>', { status: 404 })
      },
    })
  })
  afterAll(() => release.stop(true))

  /** Says that more is coming, and hangs up. */
  const hangsUp = () =>
    Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket) {
          socket.write(
            `HTTP/1.1 200 OK\r\ncontent-length: ${program.length + 1000}\r\nconnection: close\r\n\r\n${program}`,
          )
          socket.end()
        },
      },
    })

  const tools: [string, How][] = [
    ['curl under dash', { shell: 'dash' }],
    ['curl under bash --posix', { shell: 'bash --posix' }],
    ['curl through a pipe', { shell: 'dash', piped: true }],
    ['wget of busybox', { shell: 'busybox' }],
    ['wget of busybox through a pipe', { shell: 'busybox', piped: true }],
  ]
  test.each(tools)(
    'by %s: what fits this system and its sum is installed, and nothing else',
    async (_, how) => {
      const get = (folder: string, ...args: string[]) => install(['--url', `${release.url}${folder}`, ...args], how)
      asked = []
      const good = await get('good')
      expect(good).toMatchObject({ code: 0, installed: true })
      expect(asked).toEqual(['/good/SHA256SUMS', `/good/${own}`])
      expect(readFileSync(join(good.at, 'bin/tutti'), 'utf8')).toBe(program)
      expect(good.out).toContain(
        `SHA-256 matches ${release.url}good/SHA256SUMS\nInstalled ${join(good.at, 'bin/tutti')} (9.9.9)`,
      )

      for (const where of ['good/', `good/${own}`, 'moved'])
        expect([where, (await get(where)).code]).toEqual([where, 0])
      // A sum that is known needs no other, and wins over it.
      expect(await get('bare', '--sha256', sumOf(program))).toMatchObject({ code: 0, installed: true })
      for (const [where, said, ...args] of [
        ['wrong', 'REFUSED: SHA-256 of'],
        ['good', 'but --sha256 says', '--sha256', '0'.repeat(64)],
        ['bare', 'SHA256SUMS; use --sha256 SUM'],
        ['unnamed', `does not list ${own}`],
        ['missing', 'cannot download'],
      ] as const)
        expect([where, await get(where, ...args)]).toEqual([
          where,
          expect.objectContaining({ code: 1, installed: false, err: expect.stringContaining(said) as string }) as never,
        ])

      using cut = hangsUp()
      const half = await install(['--url', `http://127.0.0.1:${cut.port}/${own}`, '--sha256', sumOf(program)], how)
      // curl notices that more was promised; busybox need not, and then the sum decides.
      if (how.shell !== 'busybox') expect(half).toMatchObject({ code: 1, installed: false })
      expect(
        await install(['--url', `http://127.0.0.1:${cut.port}/${own}`, '--sha256', sumOf(`${program}more`)], how),
      ).toMatchObject({
        code: 1,
        installed: false,
      })
    },
    300_000,
  )

  test('downloads the binary for this system', async () => {
    const x64 = /\bavx2\b/.test(readFileSync('/proc/cpuinfo', 'utf8')) ? 'x64' : 'x64-baseline'
    for (const [system, machine, more, name] of [
      ['Linux', 'x86_64', {}, `tutti-linux-${x64}`],
      ['Linux', 'aarch64', {}, 'tutti-linux-arm64'],
      ['Darwin', 'arm64', {}, 'tutti-darwin-arm64'],
      ['Darwin', 'x86_64', { sysctl: 'exit 1' }, 'tutti-darwin-x64'],
      ['Darwin', 'x86_64', { sysctl: 'echo 1' }, 'tutti-darwin-arm64'],
    ] as const) {
      asked = []
      const fakes = { uname: `[ "$1" = -s ] && echo ${system} || echo ${machine}`, ...more }
      await install(['--url', `${release.url}none`, '--sha256', '0'.repeat(64)], { fakes })
      expect(asked).toEqual([`/none/${name}`])
    }
    for (const [fakes, said] of [
      [{ uname: '[ "$1" = -s ] && echo FreeBSD || echo amd64' }, 'no prebuilt tutti for FreeBSD'],
      [{ uname: '[ "$1" = -s ] && echo Linux || echo riscv64' }, 'no prebuilt tutti for Linux riscv64'],
      [{ ldd: 'echo "musl libc (aarch64)" >&2; exit 1' }, 'has musl'],
    ] as const)
      expect(await install(['--url', `${release.url}good`], { fakes })).toMatchObject({
        code: 1,
        installed: false,
        err: expect.stringContaining(said) as string,
      })
  }, 300_000)

  test('uses only https, and without curl requires --sha256', async () => {
    for (const url of ['http://example.com/x', 'http://127.0.0.1.example.com/x', 'http://localhost.example.com', 'ftp://example.com', 'file:///etc/passwd'])
      expect(await install(['--url', url], {})).toMatchObject({ code: 1, err: expect.stringContaining('must be an https address') as string }) // biome-ignore format: a list
    const unsure = await install(['--url', 'https://example.invalid/v1'], { shell: 'busybox' })
    expect(unsure).toMatchObject({
      code: 1,
      err: expect.stringContaining('without curl, the checksum must be given') as string,
    })
    // Without a name server nothing is asked; that curl is held to https is seen in how it is called.
    const told = await install(['--url', 'https://example.invalid/v1'], { fakes: { curl: 'echo "$@" >&2; exit 6' } })
    expect(told.err).toContain('--proto =https --proto-redir =https')
  }, 300_000)
})

test('install.sh from a pipe ignores a source tree in the current folder', async () => {
  const trap = folder()
  mkdirSync(join(trap, 'scripts'))
  writeFileSync(join(trap, 'scripts/bun.sh'), 'echo built by somebody else >&2; exit 3\n')
  chmodSync(join(trap, 'scripts/bun.sh'), 0o755)
  const child = Bun.spawnSync(['dash', '-s', '--', '--prefix', folder()], {
    cwd: trap,
    env: plain,
    stdin: readFileSync(script),
  })
  expect([child.exitCode, child.stderr.toString()]).toEqual([1, expect.stringContaining('no source tree here')])
})

test('install.sh does nothing if its download was cut off', () => {
  const text = readFileSync(script, 'utf8')
  for (const part of [0.3, 0.6, 0.9]) {
    const at = folder()
    const child = Bun.spawnSync(['dash', '-s', '--', '--prefix', join(at, 'x'), '--file', BINARY], {
      env: plain,
      stdin: Buffer.from(text.slice(0, text.length * part)),
    })
    expect([child.stdout.toString(), readdirSync(at)]).toEqual(['', []])
  }
})

test.if(Bun.which('shellcheck') !== null)('shellcheck has nothing to say', () => {
  const ours = ['debian', 'postgres', 'cluster', 'llama'].map((name) => `test/support/${name}.sh`)
  const scripts = ['install.sh', 'scripts/bun.sh', 'test/run', ...ours]
  const checked = Bun.spawnSync(['shellcheck', ...scripts], { cwd: root })
  expect(checked.stdout.toString()).toBe('')
})
