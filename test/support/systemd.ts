import { chmodSync, linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BINARY, bareEnv, folder, type Run, shortLived } from './binary.ts'

/** Targets that units here name; none of them starts anything of this machine. */
const targets = [
  'sysinit',
  'basic',
  'shutdown',
  'multi-user',
  'network-online',
  'default',
  'umount',
  'final',
  'emergency',
  'rescue',
]

/**
 * A real systemd as the first process of its own namespaces: it sees this machine's files, but none of its units, and has its own /etc and
 * /run for them. Needs root.
 */
export class Systemd {
  private constructor(private readonly pid: number) {}

  static async start(): Promise<Systemd> {
    const units = folder('tutti-units-')
    for (const name of targets)
      writeFileSync(join(units, `${name}.target`), `[Unit]\nDescription=${name}\nDefaultDependencies=no\n`)
    const compilers = Object.entries(shortLived)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')
    const script = `set -e
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs tmpfs /run
for d in /usr/lib/systemd/system /usr/lib/systemd/system-generators /etc/systemd; do mount -t tmpfs tmpfs $d; done
mkdir /etc/systemd/system
printf '[Manager]\nDefaultEnvironment=${compilers}\n' >/etc/systemd/system.conf
cp ${units}/* /etc/systemd/system
container=test exec /lib/systemd/systemd --system --unit=default.target --log-target=null --show-status=0`
    const outer = Bun.spawn(
      ['unshare', '--cgroup', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', script],
      {
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'inherit',
      },
    )
    process.on('exit', () => outer.kill('SIGKILL'))
    const deadline = Date.now() + 120_000
    while (Date.now() < deadline && outer.exitCode === null) {
      const inner = Number(Bun.spawnSync(['pgrep', '-P', String(outer.pid)]).stdout.toString())
      const systemd = new Systemd(inner)
      if (inner && /running|degraded/.test((await systemd.run(['systemctl', 'is-system-running'])).out)) {
        systemd.#end = async () => {
          outer.kill('SIGKILL')
          await outer.exited
        }
        return systemd
      }
      await Bun.sleep(100)
    }
    outer.kill('SIGKILL')
    throw new Error('systemd does not start here')
  }

  #end: () => Promise<void> = async () => undefined
  stop = (): Promise<void> => this.#end()

  async run(words: string[], { env = {} }: { env?: Record<string, string> } = {}): Promise<Run> {
    const child = Bun.spawn(['nsenter', '-t', String(this.pid), '-m', '-p', '-C', ...words], {
      cwd: '/',
      env: { ...bareEnv, HOME: '/root', ...env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, err, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    return { code, out, err }
  }

  tutti = (args: string[], env: Record<string, string> = {}, binary = BINARY): Promise<Run> =>
    this.run([binary, ...args], { env })
}

let copied: Promise<string> | undefined
async function copyBinary(): Promise<string> {
  const copy = join(folder(), 'tutti')
  await Bun.$`cp --reflink=auto ${BINARY} ${copy}`.quiet()
  chmodSync(copy, 0o755)
  return copy
}

/**
 * Returns a binary that a test can replace, in a folder of its own; `name` may be a folder name that is hard to quote.
 * All of them are links to one copy, because copying 160 MB takes long: never write into the file itself.
 */
export async function installed(name = 'bin'): Promise<string> {
  copied ??= copyBinary()
  const path = join(folder(), name)
  mkdirSync(path)
  const binary = join(path, 'tutti')
  linkSync(await copied, binary)
  // Other users must reach it, whatever the umask of this process is.
  for (const each of [dirname(path), path]) chmodSync(each, 0o755)
  return binary
}
