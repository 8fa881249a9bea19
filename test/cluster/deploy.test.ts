import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { YAML } from 'bun'
import { settings } from '../../src/config.ts'
import { version } from '../../src/version.ts'
import { freePort } from '../support/port.ts'
import { Programs } from './programs.ts'

// `cluster.test.ts` starts HAProxy and Patroni with their examples. Here is the rest.

const example = (name: string) => readFileSync(join(import.meta.dir, '../../deploy', name), 'utf8')
let programs: Programs
beforeAll(async () => {
  programs = await Programs.create()
}, 1_200_000)
afterAll(() => programs.stop())

test('HAProxy accepts both of its examples', async () => {
  for (const name of ['haproxy/haproxy.cfg', 'compose/haproxy.cfg']) {
    const file = await programs.write('haproxy.cfg', example(name))
    const { code, said } = await programs.run(['haproxy', '-c', '-f', file], { asRoot: true })
    expect([name, code, said.includes('[WARNING]') ? said : '']).toEqual([name, 0, ''])
  }
})

test('Caddy accepts its example', async () => {
  const file = await programs.write('Caddyfile', example('caddy/Caddyfile'))
  const { code, said } = await programs.run(['caddy', 'validate', '--adapter', 'caddyfile', '--config', file])
  expect([code, said]).toEqual([0, expect.stringContaining('Valid configuration')])
})

test('PgBouncer starts with its example', async () => {
  const port = freePort()
  const config = example('pgbouncer/pgbouncer.ini')
    .replace('listen_port = 6432', `listen_port = ${port}`)
    .replace('auth_type = scram-sha-256', 'auth_type = trust')
    .replace('/etc/pgbouncer/userlist.txt', await programs.write('userlist.txt', '"tutti" ""\n'))
    .replace(/^logfile = .*$/m, '')
    .replace(/^pidfile = .*$/m, 'unix_socket_dir =')
  const program = programs.start('pgbouncer', ['pgbouncer', await programs.write('pgbouncer.ini', config)])
  await program.until(() => program.output().includes('process up'))
  expect(program.output()).toContain(`listening on 127.0.0.1:${port}`)
  expect(program.output()).not.toMatch(/WARNING|ERROR|unknown/)
})

test('nginx accepts its example', async () => {
  // It opens its logs and its port.
  const own = `error_log stderr;\npid ${join(programs.folder, 'nginx.pid')};\n`
  const config = example('nginx/nginx.conf')
    .replace('listen 80;', `listen 127.0.0.1:${freePort()};`)
    .replace('http {', 'http {\n    access_log off;')
  const file = await programs.write('nginx.conf', own + config)
  const { code, said } = await programs.run(['nginx', '-t', '-e', 'stderr', '-c', file], { asRoot: true })
  expect([code, said]).toEqual([0, expect.stringContaining('test is successful')])
})

type Tree = { [name: string]: unknown }
const at = <T = Tree>(tree: unknown, ...path: (string | number)[]): T =>
  path.reduce<unknown>((node, name) => (node as Tree)[name], tree) as T

/** Settings of a container that the server knows; others would do nothing. */
const unknown = (names: string[]) => names.filter((name) => !(name in settings))

test('the compose file parses and sets only known settings (Docker itself is not run)', () => {
  const compose = YAML.parse(example('compose/compose.yaml')) as Tree
  const services = at<Record<string, Tree>>(compose, 'services')
  expect(Object.keys(services)).toEqual(['postgres', 'tutti1', 'tutti2', 'proxy'])
  for (const name of ['tutti1', 'tutti2']) {
    const environment = at<Record<string, string>>(services, name, 'environment')
    expect(unknown(Object.keys(environment))).toEqual([])
    expect(environment.INSTANCE_URL).toBe(`http://${name}:4242`)
    for (const needed of ['APP_URL', 'TUTTI_SECRET', 'DATABASE_URL']) expect(environment[needed]).toBeString()
    expect(at<string>(services, name, 'build', 'dockerfile')).toBe('deploy/Dockerfile')
  }
  const [file] = at<string[]>(services, 'proxy', 'volumes')
  expect(example(`compose/${file?.split(':')[0]}`)).toContain('server tutti2 tutti2:4242')
})

test('the Dockerfile sets only known settings (Docker itself is not run)', () => {
  const pairs = /^ENV (.*)$/m.exec(example('Dockerfile'))?.[1]?.split(' ') ?? []
  expect(unknown(pairs.map((pair) => pair.split('=')[0] ?? ''))).toEqual([])
  expect(pairs).toContain('PORT=4242')
})

test('the Kubernetes manifests parse and match each other (no cluster is run)', () => {
  const documents = example('kubernetes/tutti.yaml')
    .split(/^---$/m)
    .map((text) => YAML.parse(text) as Tree)
  const of = (kind: string): Tree => documents.find((document) => document.kind === kind) ?? {}
  expect(documents.map(({ kind }) => kind)).toEqual([
    ...['Secret', 'Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy', 'Ingress'],
  ])
  for (const document of documents) expect(at<string>(document, 'metadata', 'name')).toBe('tutti')
  const pod = at(of('Deployment'), 'spec', 'template')
  const labels = at<Record<string, string>>(pod, 'metadata', 'labels')
  for (const selector of [
    at(of('Deployment'), 'spec', 'selector', 'matchLabels'),
    at(of('Service'), 'spec', 'selector'),
    at(of('PodDisruptionBudget'), 'spec', 'selector', 'matchLabels'),
    at(of('NetworkPolicy'), 'spec', 'podSelector', 'matchLabels'),
  ])
    expect(selector).toEqual(labels)
  const container = at(pod, 'spec', 'containers', 0)
  const env = at<{ name: string; value?: string }[]>(container, 'env')
  const given = [...env.map(({ name }) => name), ...Object.keys(at(of('Secret'), 'stringData'))]
  // POD_IP is only there for INSTANCE_URL.
  expect(unknown(given)).toEqual(['POD_IP'])
  expect(env.find(({ name }) => name === 'INSTANCE_URL')?.value).toBe('http://$(POD_IP):4242')
  expect(at<string>(container, 'image')).toEndWith(`:${version}`)
  const port = at<string>(container, 'ports', 0, 'name')
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
    expect(at<string>(container, probe, 'httpGet', 'port')).toBe(port)
  expect(at<string>(of('Ingress'), 'spec', 'rules', 0, 'http', 'paths', 0, 'backend', 'service', 'name')).toBe('tutti')
  // The drain takes 3 seconds and 10 more.
  expect(at<number>(pod, 'spec', 'terminationGracePeriodSeconds')).toBeGreaterThan(13)
})
