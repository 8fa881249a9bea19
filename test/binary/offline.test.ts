import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder } from '../support/binary.ts'

/** strace and a separate network namespace need root; test/run names the tests that it leaves out. */
const able = process.getuid?.() === 0 && Bun.which('strace') && Bun.which('unshare') && Bun.which('ip')

interface Watched {
  code: number
  out: string
  err: string
  /** Addresses that any process of the command tried to reach. */
  reached: Set<string>
}

/** Runs a command where only the loopback interface exists, and collects the addresses in its system calls. */
async function withoutNetwork(...command: string[]): Promise<Watched> {
  const trace = join(folder(), 'trace')
  const calls = 'trace=connect,sendto,sendmsg,sendmmsg'
  const watch = ['strace', '-f', '--seccomp-bpf', '-qq', '-s', '0', '-e', calls, '-o', trace]
  const child = Bun.spawn(
    ['unshare', '-n', 'sh', '-c', 'ip link set lo up; exec "$@"', 'sh', ...watch, '--', ...command],
    { stdout: 'pipe', stderr: 'pipe' },
  )
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  const text = readFileSync(trace, 'utf8')
  const addresses = text.matchAll(/inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"/g)
  const reached = new Set([...addresses].map(([, v4, v6]) => (v4 ?? v6) as string))
  // A name server on this machine asks others.
  if (/htons\(53\)/.test(text)) reached.add('name server')
  return { code, out, err, reached }
}

const loopback = (address: string): boolean => /^(127\.|::1$|::ffff:127\.)/.test(address)

test.skipIf(!able)(
  'from start to upgrade, no connection to the outside is opened',
  async () => {
    const { code, out, err, reached } = await withoutNetwork(
      process.execPath,
      join(import.meta.dir, '../support/offline-tour.ts'),
    )
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.trim().split('\n')).toEqual(
      expect.arrayContaining(['seed', 'recall', 'ask', 'code', 'backup', 'upgrade']),
    )
    expect([...reached].filter((address) => !loopback(address))).toEqual([])
    expect(reached.size).toBeGreaterThan(0)
  },
  300_000,
)

test.skipIf(!able)('a connection to the outside would be noticed, by address and by name', async () => {
  const byAddress = await withoutNetwork('bash', '-c', 'exec 3<>/dev/tcp/192.0.2.1/80')
  expect([...byAddress.reached]).toEqual(['192.0.2.1'])
  const { reached } = await withoutNetwork(process.execPath, '-e', 'await fetch("http://tutti.example").catch(() => 0)')
  expect([...reached]).toContain('name server')
})
