import { afterAll, describe, expect, test } from 'bun:test'
import { copyFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { BINARY, EMAIL, folder, json, PASSWORD, type Served, serve, tutti } from '../support/binary.ts'
import { freshDatabase } from '../support/postgres.ts'

const stops: (() => Promise<unknown>)[] = []
const running = async (options: Parameters<typeof serve>[0] = {}): Promise<Served> => {
  const server = await serve(options)
  stops.push(() => server.kill())
  return server
}
afterAll(() => Promise.all(stops.map((stop) => stop())))

describe('the command line', () => {
  test('prints its version and its help', async () => {
    expect((await tutti(['--version'])).out.trim()).toMatch(/^\d+\.\d+\.\d+$/)
    const help = await tutti(['--help'])
    expect(help.code).toBe(0)
    for (const command of ['serve', 'admin', 'migrate', 'seed', 'config', 'sbom']) expect(help.out).toContain(command)
  })

  test('exits with code 2 and one clear line for bad input', async () => {
    expect((await tutti(['frobnicate'])).code).toBe(2)
    expect((await tutti(['serve', '--wat'])).code).toBe(2)
    const bad = await tutti(['serve', '--data-dir', folder()], {
      env: { PORT: '99999', APP_URL: 'nope', DB_DURABILITY: 'maybe', TUTTI_SECRET: 'change-me' },
    })
    expect(bad.code).toBe(2)
    for (const name of ['PORT', 'APP_URL', 'DB_DURABILITY', 'TUTTI_SECRET']) expect(bad.err).toContain(name)
    expect(bad.err).not.toContain('change-me')
    expect(bad.err).not.toContain('    at ')
  })

  test('config hides secrets and names the source of each value', async () => {
    const dir = folder()
    writeFileSync(join(dir, 'config.env'), '# mine\nPORT=5050\n')
    const { out } = await tutti(['config', '--data-dir', dir], { env: { METRICS_TOKEN: 'q7w8e9r0t1y2u3i4o5p6' } })
    expect(out).toMatch(/PORT\s+5050\s+file/)
    expect(out).toMatch(/METRICS_TOKEN\s+\(hidden\)\s+environment/)
    expect(out).not.toContain('q7w8e9r0')
    writeFileSync(join(dir, 'config.env'), 'PROT=5050\n')
    writeFileSync(join(dir, 'named.env'), `DATA_DIR=${join(dir, 'else')}\n`)
    expect((await tutti(['config', '--config', join(dir, 'named.env')])).out).toMatch(
      new RegExp(`DATA_DIR\\s+${join(dir, 'else')}\\s+file`),
    )
    const typo = await tutti(['config', '--data-dir', dir])
    expect(typo.code).toBe(2)
    expect(typo.err).toContain('PROT is not a setting')
  })

  test('config policy lists every route and tool, and sbom every component', async () => {
    const { out } = await tutti(['config', 'policy'])
    expect(out).toMatch(/POST \/api\/notes\s+notes\.create\s+session,api_key,mcp_token\s+notes:write\s+member/)
    expect(out).toContain('tool create_note')
    const sbom = JSON.parse((await tutti(['sbom'])).out) as { bomFormat: string; components: { name: string }[] }
    expect(sbom.bomFormat).toBe('CycloneDX')
    expect(sbom.components.map((c) => c.name)).toEqual(
      expect.arrayContaining(['bun', 'elysia', 'all-MiniLM-L6-v2', '@electric-sql/pglite']),
    )
  })
})

describe('a server that must not start', () => {
  test('exits if the port is in use', async () => {
    const first = await running()
    const port = new URL(first.url).port
    const second = await tutti(['serve', '--port', port, '--data-dir', folder()])
    expect(second.code).toBe(6)
    expect(second.err).toContain(`Port ${port} is in use`)
  })
})

test('a data folder with a very long path contains its control socket', async () => {
  const dir = join(folder(), 'd'.repeat(60), 'e'.repeat(60))
  const server = await running({ dir })
  const made = await tutti(
    ['admin', 'create', '--email', EMAIL, '--name', 'Ada', '--password-stdin', '--data-dir', dir],
    {
      stdin: PASSWORD,
    },
  )
  expect(made).toMatchObject({ code: 0 })
  expect(statSync(join(dir, 'control.sock')).mode & 0o777).toBe(0o600)
  expect(await server.stop()).toBe(0)
}, 300_000)

describe('a new installation', () => {
  test('runs in an empty folder without a network, and the set-up link creates the administrator', async () => {
    const home = folder()
    copyFileSync(BINARY, join(home, 'tutti'))
    const wrap = process.getuid?.() === 0 ? ['unshare', '-n', 'sh', '-c', 'ip link set lo up; exec "$@"', 'sh'] : []
    const script = `
      set -eu
      cd ${home}
      : > out.txt
      ./tutti serve --port 4999 --data-dir data > out.txt 2> err.txt &
      until grep -q 'setup#' out.txt; do kill -0 %1; sleep 0.05; done
      TOKEN=$(sed -n 's/.*setup#//p' out.txt)
      curl -sS http://127.0.0.1:4999/api/setup -H 'content-type: application/json' -d "{\\"token\\":\\"$TOKEN\\",\\"email\\":\\"${EMAIL}\\",\\"name\\":\\"Ada\\",\\"password\\":\\"${PASSWORD}\\"}" -w '\\n%{http_code}\\n'
      curl -sS http://127.0.0.1:4999/api/setup -H 'content-type: application/json' -d "{\\"token\\":\\"$TOKEN\\",\\"email\\":\\"b@example.com\\",\\"name\\":\\"B\\",\\"password\\":\\"${PASSWORD}\\"}" -o /dev/null -w '%{http_code}\\n'
      curl -sS http://127.0.0.1:4999/health
      kill %1; wait %1
    `
    const child = Bun.spawn([...wrap, 'bash', '-c', script], { stdout: 'pipe', stderr: 'pipe' })
    const [out, err, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const [answer = '', status, again, health = ''] = out.split('\n')
    expect(status).toBe('201')
    expect((JSON.parse(answer) as { user: { role: string } }).user.role).toBe('admin')
    expect(again).toBe('410')
    expect(JSON.parse(health)).toMatchObject({ status: 'ok', database: { kind: 'pglite', ok: true } })
    expect(readdirSync(home).sort()).toEqual(['data', 'err.txt', 'out.txt', 'tutti'])
  }, 300_000)

  test('listens on loopback only, keeps its files private and ignores a .env file', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, '.env'), 'PORT=1\nDATABASE_URL=postgres://nobody@127.0.0.1:1/none\n')
    const made = await tutti(['config', '--data-dir', folder()], { cwd })
    expect(made.out).toMatch(/PORT\s+4242\s+default/)
    expect(made.out).toMatch(/HOST\s+127\.0\.0\.1\s+default/)
    const server = await running()
    const loose = [...new Bun.Glob('**/*').scanSync({ cwd: server.dir, dot: true, onlyFiles: false })].filter(
      // The server runs: a file may be gone by now.
      (path) => ((statSync(join(server.dir, path), { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0,
    )
    expect(loose).toEqual([])
    expect(statSync(join(server.dir, 'control.sock')).mode & 0o777).toBe(0o600)
    expect(statSync(join(server.dir, 'secret')).mode & 0o777).toBe(0o600)
  })

  test('creates an administrator with and without a running server, loads seeds, and migrates', async () => {
    const dir = folder()
    const create = (email: string, stdin = PASSWORD) =>
      tutti(['admin', 'create', '--email', email, '--name', 'Ada', '--password-stdin', '--data-dir', dir], { stdin })
    expect(await create('before@example.com')).toMatchObject({
      code: 0,
      out: 'before@example.com is an administrator.\n',
    })
    const server = await running({ dir })
    expect(server.output()).not.toContain('setup#')
    expect(await create('while@example.com')).toMatchObject({ code: 0 })
    expect(await create('weak@example.com', 'password1234567')).toMatchObject({ code: 2 })
    for (const email of ['before@example.com', 'while@example.com'])
      expect((await fetch(`${server.url}/api/auth/login`, json('POST', { email, password: PASSWORD }))).status).toBe(
        200,
      )
    const seeded = await tutti(['seed', '--demo', '--data-dir', dir])
    expect(seeded.out).toContain('created project Lighthouse API')
    expect((await tutti(['seed', '--demo', '--data-dir', dir])).out).not.toContain('created')
    // The running server answers; no one else opens its files.
    expect((await tutti(['migrate', '--data-dir', dir])).out).toStartWith('Up to date')
    await server.stop()
    expect((await tutti(['migrate', '--data-dir', dir])).out).toContain('Up to date')
  }, 300_000)
})

for (const kind of ['pglite', 'postgres'] as const) {
  test.skipIf(kind === 'postgres' && !process.env.TEST_DATABASE_URL)(
    `pages, API and a real MCP client on ${kind}`,
    async () => {
      const database = kind === 'postgres' ? await freshDatabase() : undefined
      const env: Record<string, string> = database ? { DATABASE_URL: database.url } : {}
      const server = await running({ env })
      await tutti(
        ['admin', 'create', '--email', EMAIL, '--name', 'Ada', '--password-stdin', '--data-dir', server.dir],
        {
          stdin: PASSWORD,
          env,
        },
      )
      for (const path of ['/', '/manual', '/manual/start', '/api/reference', '/setup']) {
        const page = await fetch(server.url + path)
        expect(page.status).toBe(200)
        expect(page.headers.get('content-type')).toContain('text/html')
        expect(page.headers.get('content-security-policy')).not.toContain('unsafe')
      }
      const { token } = (await (
        await fetch(`${server.url}/api/auth/login`, json('POST', { email: EMAIL, password: PASSWORD }))
      ).json()) as {
        token: string
      }
      const team = (await (
        await fetch(`${server.url}/api/team`, { headers: { authorization: `Bearer ${token}` } })
      ).json()) as { id: string }
      const made = await fetch(
        `${server.url}/api/mcp-tokens`,
        json('POST', { name: 'agent', organizationId: team.id }, token),
      )
      const { token: mcp } = (await made.json()) as { token: string }
      // With minified names, the binary once accepted numbers out of bounds.
      expect(
        (await fetch(`${server.url}/api/tasks?limit=0`, { headers: { authorization: `Bearer ${token}` } })).status,
      ).toBe(422)
      // The Worker that renders long texts is a file of its own in the binary.
      const long = { title: 'Deep quote', content: '>'.repeat(262_143), scope: 'public' }
      const { slug } = (await (await fetch(`${server.url}/api/notes`, json('POST', long, token))).json()) as {
        slug: string
      }
      const page = await (await fetch(`${server.url}/notes/public/${slug}`)).text()
      expect(page.match(/<blockquote>/g)).toHaveLength(32)
      const requestInit = { headers: { authorization: `Bearer ${mcp}` } }
      for (const transport of [
        new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }),
        new SSEClientTransport(new URL(`${server.url}/mcp/sse`), { requestInit }),
      ]) {
        const client = new Client({ name: 'test', version: '1' })
        await client.connect(transport)
        const { tools } = await client.listTools()
        expect(tools.map((t) => t.name)).toEqual(expect.arrayContaining(['create_note', 'get_note', 'create_project']))
        const note = await client.callTool({
          name: 'create_note',
          arguments: { title: 'From an agent', content: 'hello' },
        })
        expect(note.structuredContent).toEqual({ slug: expect.stringContaining('from-an-agent'), version: 1 })
        await client.close()
      }
      expect(await server.stop()).toBe(0)
      await database?.drop()
    },
    300_000,
  )
}
