import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { $ } from 'bun'

/** The user that Postgres and what looks after it run as, inside the chroot. */
const POSTGRES = 101

export interface Program {
  readonly pid: number
  /** What it wrote, for the report of a failure. */
  output(): string
  readonly exited: Promise<number>
  signal(name: NodeJS.Signals): void
  kill(): Promise<void>
  /** Asks again and again until the answer is yes. Fails with what the program wrote if it ends before. */
  until(isSo: () => boolean | Promise<boolean>): Promise<void>
}

interface StartOptions {
  /** Default: the user of Postgres. */
  asRoot?: boolean
  env?: Record<string, string>
}

/** A folder in the chroot for one run, with the programs that were started in it. All of it ends with the process. */
export class Programs {
  readonly #programs: { kill(signal: NodeJS.Signals): void; exited: Promise<number> }[] = []

  private constructor(
    /** The chroot, as the host sees it. */
    readonly root: string,
    /** The folder of this run, as the programs see it. */
    readonly folder: string,
  ) {}

  static async create(): Promise<Programs> {
    const root = (await $`${join(import.meta.dir, '../support/cluster.sh')}`.text()).trim()
    for (const left of readdirSync(join(root, 'runs')))
      if (!existsSync(`/proc/${left.split('-')[1]}`)) remove(root, left)
    const made = mkdtempSync(join(root, 'runs', `run-${process.pid}-`))
    chownSync(made, POSTGRES, POSTGRES)
    const programs = new Programs(root, made.slice(root.length))
    process.on('exit', () => programs.#removed())
    return programs
  }

  /** A file or folder of this run, as the host sees it. */
  path(name: string): string {
    return join(this.root, this.folder, name)
  }

  /** Writes a file and returns its name as the programs see it. */
  async write(name: string, content: string): Promise<string> {
    await Bun.write(this.path(name), content)
    chownSync(this.path(name), POSTGRES, POSTGRES)
    return join(this.folder, name)
  }

  /** Copies a program of the host into the folder of this run, and returns its name as the programs see it. */
  adopt(program: string): string {
    copyFileSync(program, this.path(basename(program)))
    return join(this.folder, basename(program))
  }

  /** Makes a folder that Postgres may write to, and returns its name as the programs see it. */
  makeFolder(name: string): string {
    mkdirSync(this.path(name), { mode: 0o700 })
    chownSync(this.path(name), POSTGRES, POSTGRES)
    return join(this.folder, name)
  }

  /** Makes a folder that is a disk of its own with so many megabytes. */
  async makeDisk(name: string, megabytes: number): Promise<void> {
    this.makeFolder(name)
    const options = `size=${megabytes}m,mode=700,uid=${POSTGRES},gid=${POSTGRES}`
    await $`mount -t tmpfs -o ${options} tmpfs ${this.path(name)}`
  }

  #command([program = '', ...rest]: readonly string[], { asRoot, env = {} }: StartOptions): string[] {
    const user = asRoot ? [] : [`--userspec=${POSTGRES}:${POSTGRES}`, '--groups=']
    const variables = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: this.folder, LANG: 'C.UTF-8', ...env }
    const set = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
    const inside = ['chroot', ...user, this.root, 'env', '-i', ...set, program, ...rest]
    // Patroni looks for Postgres in /proc, and Python's locks are in /dev/shm. Mounted for this program only, so nothing
    // has to be unmounted.
    const mount = 'mount --bind /proc "$0/proc" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" && exec "$@"'
    return ['unshare', '--mount', 'sh', '-c', mount, this.root, ...inside]
  }

  /** Starts a program that stays in the foreground. */
  start(name: string, command: readonly string[], options: StartOptions = {}): Program {
    const log = this.path(`${name}.log`)
    const child = Bun.spawn(this.#command(command, options), {
      stdin: 'ignore',
      stdout: Bun.file(log),
      stderr: Bun.file(log),
    })
    const kept = { kill: (signal: NodeJS.Signals) => child.kill(signal), exited: child.exited }
    this.#programs.push(kept)
    const output = () => (existsSync(log) ? readFileSync(log, 'utf8') : '')
    return {
      pid: child.pid,
      output,
      until: async (isSo) => {
        while (!(await isSo())) {
          if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${output()}`)
          await Bun.sleep(50)
        }
      },
      exited: child.exited,
      signal: (signal) => child.kill(signal),
      kill: async () => {
        child.kill('SIGKILL')
        await child.exited
      },
    }
  }

  /** Runs a program to its end. */
  async run(command: readonly string[], options: StartOptions = {}): Promise<{ code: number; said: string }> {
    const child = Bun.spawn(this.#command(command, options), { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
    const [out, err, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    return { code, said: out + err }
  }

  /** Returns the processes that work in a folder of this run: a Postgres server and all its backends. */
  processesIn(name: string): number[] {
    return processesOf((_, cwd) => cwd === this.path(name))
  }

  /** Sends a signal to everything that works in a folder. */
  signalIn(name: string, signal: NodeJS.Signals): void {
    for (const pid of this.processesIn(name)) tryKill(pid, signal)
  }

  async stop(): Promise<void> {
    for (const program of this.#programs) program.kill('SIGKILL')
    await Promise.all(this.#programs.map(({ exited }) => exited))
    this.#removed()
  }

  #removed(): void {
    remove(this.root, basename(this.folder))
  }
}

/** Ends everything of a run and removes its folder; also what a run has left that was killed itself. */
function remove(root: string, run: string): void {
  const folder = join(root, 'runs', run)
  const isOfRun = (command: string, cwd: string) => command.includes(`/runs/${run}/`) || cwd.startsWith(`${folder}/`)
  // A program that ends may have started another one meanwhile.
  for (let pids = processesOf(isOfRun); pids.length > 0; pids = processesOf(isOfRun)) {
    for (const pid of pids) tryKill(pid, 'SIGKILL')
    Bun.sleepSync(20)
  }
  const mounted = readFileSync('/proc/mounts', 'utf8').split('\n')
  for (const place of mounted.flatMap((line) => line.split(' ')[1] ?? []))
    if (place.startsWith(`${folder}/`)) Bun.spawnSync(['umount', '--lazy', place])
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** Returns the processes whose command and working directory pass. */
function processesOf(passes: (command: string, cwd: string) => boolean): number[] {
  return readdirSync('/proc')
    .filter((pid) => {
      if (!/^\d+$/.test(pid)) return false
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        // A zombie process has no command line.
        return command !== '' && passes(command, readlinkSync(`/proc/${pid}/cwd`))
      } catch {
        return false // It has ended.
      }
    })
    .map(Number)
}

function tryKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}
