import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  OfferedActions,
  TunnelAction,
  TunnelActionPage,
} from '../../src/features/tunnels/actions/action-schema.ts'
import { Dispatcher, endAction, expireActions, startAction } from '../../src/features/tunnels/actions/dispatch.ts'
import { MOST_OFFERS } from '../../src/features/tunnels/machine-connection.ts'
import type { Tunnel, TunnelClaimed, TunnelRegistered } from '../../src/features/tunnels/schema.ts'
import { purgeExpired } from '../../src/features/upkeep/service.ts'
import { TunnelAgent, type TunnelAgentOptions } from '../../src/tunnel/agent.ts'
import { SUBPROTOCOL } from '../../src/tunnel/frames.ts'
import { type MachineConfig, machineOffer } from '../../src/tunnel/machine-config.ts'
import { TunnelSession } from '../../src/tunnel/session.ts'
import { apiKey, call, member, type Person, person, systemCtx, type TestApp, testApp, unique } from '../support/app.ts'
import { until } from '../support/until.ts'
import { expectEvent, expectRefusal, TestClock, times, watch } from './support.ts'

const clock = TestClock.ahead()
const folder = mkdtempSync(join(tmpdir(), 'tutti-tunnel-'))
const secret = `svc_key_${'a'.repeat(30)}`
let t: TestApp
let owner: Person
let colleague: Person
let viewer: Person
let stranger: Person
let box: Box

interface Box {
  agent: TunnelAgent
  ended: Promise<string>
  tunnel: Tunnel
  machine: MachineConfig
}

async function claimed(fields: object = {}): Promise<{ tunnel: Tunnel; machine: MachineConfig }> {
  const { body } = await owner.fetch<TunnelRegistered>('POST', '/api/tunnels/register', {
    name: unique('Box'),
    access: 'organization',
    ...fields,
  })
  const about = { hostname: 'build-1', os: 'linux', architecture: 'x64', clientVersion: '1.0.0' }
  const { nonce, tunnel } = body
  const answer = await call<TunnelClaimed>(t, 'POST', '/api/tunnels/claim', { nonce, ...about })
  const commands: MachineConfig['commands'] = {
    greet: {
      description: 'Greet somebody',
      argv: ['printf', 'hello %s\nand %s\n', '{name}', '{password}'],
      folder,
      params: { name: { type: 'string' }, password: { type: 'string' }, code: { type: 'string', secret: true } },
      who: ['members'],
    },
    wait: { argv: ['sleep', '60'], folder, who: ['members'] },
    careful: { argv: ['true'], folder, confirm: true },
    later: { argv: ['sh', '-c', 'until [ -e go ]; do sleep 0.02; done; echo one; echo two'], folder, who: ['members'] },
  }
  commands.greet?.argv.push('{code}')
  return { tunnel, machine: { ...answer.body, server: t.url, services: {}, commands } }
}

function connect(machine: MachineConfig, options: Partial<TunnelAgentOptions> = {}) {
  const agent = new TunnelAgent({ machine, retryMs: [5, 20], ...options })
  return { agent, ended: agent.run() }
}

/** The machine has said what it offers, and that is stored. */
const isOnline = (id: string) =>
  until(async () => {
    const { body } = await owner.fetch<OfferedActions>('GET', `/api/tunnels/${id}/actions`)
    return body.items.some(({ name }) => name === 'greet')
  })

beforeAll(async () => {
  t = watch(await testApp({}, clock.now))
  owner = await person(t)
  colleague = await member(t, owner, 'member')
  viewer = await member(t, owner, 'viewer')
  stranger = await person(t)
  const made = await claimed()
  box = { ...made, ...connect(made.machine, { confirm: async ({ user }) => user.id === owner.userId }) }
  await isOnline(made.tunnel.id)
})
afterAll(async () => {
  box.agent.stop()
  await box.ended
  await t.close()
  rmSync(folder, { recursive: true, force: true })
})

const ask = (who: Person, body: object, wait = 25, id = box.tunnel.id) =>
  who.fetch<TunnelAction>('POST', `/api/tunnels/${id}/actions${wait ? `?wait=${wait}` : ''}`, body)
const get = async (who: Person, { id, tunnelId }: TunnelAction) =>
  (await who.fetch<TunnelAction>('GET', `/api/tunnels/${tunnelId}/actions/${id}`)).body
const greet = (params: object = { name: 'Ada', password: 'hunter2', code: '1234' }) => ({
  type: 'run_command',
  params: { command: 'greet', params },
})
const sleeping = { type: 'run_command', params: { command: 'wait' } }

describe('actions of a machine', () => {
  test('are listed for the caller, with a schema', async () => {
    const of = async (who: Person) =>
      (await who.fetch<OfferedActions>('GET', `/api/tunnels/${box.tunnel.slug}/actions`)).body.items
    const mine = await of(owner)
    expect(mine.map(({ type, name }) => name ?? type)).toEqual([
      'ping',
      'check_local',
      'greet',
      'wait',
      'careful',
      'later',
      'cancel',
    ])
    expect(mine.find(({ name }) => name === 'careful')).toMatchObject({ type: 'run_command', confirm: true })
    expect((await of(colleague)).map(({ name }) => name)).not.toContain('careful')
    expect(mine[2]?.schema).toMatchObject({
      required: ['command', 'params'],
      properties: { command: { const: 'greet' }, params: { required: ['name', 'password', 'code'] } },
    })
    const path = `/api/tunnels/${box.tunnel.id}/actions`
    await expectRefusal(t, await viewer.fetch('GET', path), 403, 'forbidden')
    await expectRefusal(t, await stranger.fetch('GET', path), 404, 'not_found')
  })

  test('run, and return the result, the output and the time they took', async () => {
    const asked = await ask(colleague, greet())
    expect(asked.status).toBe(201)
    expect(asked.headers.get('location')).toBe(`/api/tunnels/${box.tunnel.id}/actions/${asked.body.id}`)
    await expectEvent(t, asked, 'tunnel.action_requested')
    expect(asked.body).toMatchObject({
      type: 'run_command',
      name: 'greet',
      state: 'succeeded',
      result: { exitCode: 0 },
      output: 'hello Ada\nand hunter2\nhello 1234\nand ',
      caller: { id: colleague.userId },
      error: null,
    })
    // Secret by name and by declaration.
    expect(asked.body.params).toEqual({
      command: 'greet',
      params: { name: 'Ada', password: '[redacted]', code: '[redacted]' },
    })
    const { rows } = await t.app.driver.query('select params::text, sealed from tunnel_actions where id = $1', [
      asked.body.id,
    ])
    expect(JSON.stringify(rows)).not.toMatch(/hunter2|1234/)
    expect(rows[0]?.[1]).toBeNull()
    expect((await ask(owner, { type: 'ping' })).body).toMatchObject({ state: 'succeeded', params: {} })
    expect((await ask(owner, greet({ name: secret, password: 'x', code: 'y' }))).body.params).toMatchObject({
      params: { name: '[redacted]' },
    })
  })

  test('are refused if the server or the machine forbids them', async () => {
    await expectRefusal(t, await ask(viewer, { type: 'ping' }), 403, 'forbidden')
    await expectRefusal(t, await ask(stranger, { type: 'ping' }), 404, 'not_found')
    await expectRefusal(
      t,
      await ask(colleague, { type: 'run_command', params: { command: 'careful' } }),
      403,
      'forbidden',
    )
    await expectRefusal(t, await ask(owner, { type: 'run_command', params: { command: 'nothing' } }), 403, 'forbidden')
    await expectRefusal(t, await ask(owner, { type: 'call_tool', params: {} }), 403, 'forbidden')
    expect((await ask(owner, { type: 'exec' })).status).toBe(422)
    expect((await ask(owner, { type: 'ping' }, 26)).status).toBe(422)
    for (const params of [{}, { actionId: 'x' }, { actionId: box.tunnel.id, more: 1 }])
      expect((await ask(owner, { type: 'cancel', params })).status).toBe(422)
    expect((await ask(owner, { type: 'ping', params: { x: 'x'.repeat(17_000) } })).status).toBe(422)
    expect((await ask(owner, greet({ name: '-rf', password: 'x', code: 'y' }))).body).toMatchObject({
      state: 'refused',
      error: 'The parameter name must not begin with a hyphen.',
    })
    const narrow = await apiKey(t, owner, ['tunnels:read'])
    const headers = { authorization: `Bearer ${narrow}` }
    const path = `/api/tunnels/${box.tunnel.id}/actions`
    expect((await call(t, 'POST', path, { type: 'ping' }, headers)).status).toBe(403)
    const slow = (await ask(owner, sleeping, 0)).body
    await until(async () => (await get(owner, slow)).state === 'running')
    await owner.fetch('PUT', `/api/tunnels/${box.tunnel.id}`, { paused: true })
    expect((await ask(owner, { type: 'ping' })).status).toBe(503)
    // What runs can be ended nevertheless.
    expect((await ask(owner, { type: 'cancel', params: { actionId: slow.id } })).body.state).toBe('succeeded')
    await owner.fetch('PUT', `/api/tunnels/${box.tunnel.id}`, { paused: false, access: 'private' })
    expect((await ask(colleague, { type: 'ping' })).status).toBe(403)
    await owner.fetch('PUT', `/api/tunnels/${box.tunnel.id}`, { access: 'organization' })
  })

  test('ask for confirmation at the machine if it is set so', async () => {
    const asked = await ask(owner, { type: 'run_command', params: { command: 'careful' } })
    expect(asked.body.state).toBe('succeeded')
  })

  test('are cancelled by their caller and by managers of the tunnel', async () => {
    const running = (await ask(colleague, sleeping, 0)).body
    await until(async () => (await get(colleague, running)).state === 'running')
    const other = await member(t, owner, 'member')
    await expectRefusal(t, await ask(other, { type: 'cancel', params: { actionId: running.id } }), 404, 'not_found')
    expect((await get(colleague, running)).can?.cancel).toBe(true)
    const ended = await ask(owner, { type: 'cancel', params: { actionId: running.id } })
    expect(ended.body.state).toBe('succeeded')
    expect(
      await until(async () => {
        const now = await get(colleague, running)
        return now.state !== 'running' && now
      }),
    ).toMatchObject({ state: 'cancelled', error: `Cancelled by ${owner.email}.` })
    await expectRefusal(t, await ask(owner, { type: 'cancel', params: { actionId: running.id } }), 409, 'conflict')
  })

  /** Takes all four places of the machine, and asks for a ping that has to wait. */
  async function fillPlaces(id = box.tunnel.id): Promise<{ running: TunnelAction[]; fifth: TunnelAction }> {
    const running = await Promise.all(times(4, async () => (await ask(owner, sleeping, 0, id)).body))
    await until(async () =>
      (await Promise.all(running.map((one) => get(owner, one)))).every((a) => a.state === 'running'),
    )
    const fifth = (await ask(owner, { type: 'ping' }, 0, id)).body
    expect((await get(owner, fifth)).state).toBe('queued')
    return { running, fifth }
  }
  const cancelAll = async (actions: TunnelAction[]) => {
    for (const { id } of actions) await ask(owner, { type: 'cancel', params: { actionId: id } })
  }
  const hasSucceeded = async (action: TunnelAction) => (await get(owner, action)).state === 'succeeded'

  test('wait for one of four places', async () => {
    const { running, fifth } = await fillPlaces()
    await cancelAll(running)
    await until(() => hasSucceeded(fifth))
  })

  test('take a place that the server has freed', async () => {
    const { tunnel, machine } = await claimed()
    const { agent, ended } = connect(machine)
    await isOnline(tunnel.id)
    const { running, fifth } = await fillPlaces(tunnel.id)
    await endAction(systemCtx(t), { id: running[0]?.id ?? '', state: 'timed_out' })
    await until(() => hasSucceeded(fifth))
    agent.stop()
    await ended
  })

  test('wait while the tunnel is paused, and are sent afterwards', async () => {
    const { running, fifth } = await fillPlaces()
    const pause = (paused: boolean) => owner.fetch('PUT', `/api/tunnels/${box.tunnel.id}`, { paused })
    await pause(true)
    await cancelAll(running)
    await until(async () =>
      (await Promise.all(running.map((one) => get(owner, one)))).every((a) => a.state === 'cancelled'),
    )
    expect((await get(owner, fifth)).state).toBe('queued')
    await pause(false)
    await until(() => hasSucceeded(fifth))
  })

  test('end even if the database fails for a moment', async () => {
    const run = (statement: string) => t.app.driver.query(statement)
    // A sequence goes on although its transaction was rolled back, so only the first attempt fails.
    await run('create sequence attempts')
    await run(`create function fail_once() returns trigger language plpgsql as $$ begin
      if nextval('attempts') = 1 then raise exception 'away for a moment'; end if; return new; end $$`)
    await run(`create trigger fail_once before update on tunnel_actions for each row
      when (new.state = 'succeeded') execute function fail_once()`)
    try {
      expect((await ask(owner, { type: 'ping' })).body.state).toBe('succeeded')
      expect((await run(`select last_value::int from attempts`)).rows).toEqual([[2]])
    } finally {
      await run('drop trigger fail_once on tunnel_actions')
      await run('drop function fail_once')
      await run('drop sequence attempts')
    }
  })

  test('with one idempotency key are one action', async () => {
    const key = { 'idempotency-key': unique('key') }
    const path = `/api/tunnels/${box.tunnel.id}/actions?wait=25`
    const twice = await Promise.all(times(2, () => owner.fetch<TunnelAction>('POST', path, { type: 'ping' }, key)))
    const done = twice.filter(({ status }) => status === 201)
    expect(new Set(done.map(({ body }) => body.id)).size).toBe(1)
  })
})

describe('an offline machine', () => {
  test('receives its waiting actions if it returns within a minute', async () => {
    const { tunnel, machine } = await claimed()
    const first = connect(machine)
    await isOnline(tunnel.id)
    first.agent.stop()
    await first.ended
    await until(() => !t.app.tunnels.get(tunnel.id))
    const late = (await ask(owner, { type: 'ping' }, 0, tunnel.id)).body
    expect(late.state).toBe('queued')
    clock.forward({ seconds: 61 })
    // As soon as its time is over, and not only when somebody has looked after it.
    const ended = await get(owner, late)
    const finishedAt = new Date(Date.parse(late.createdAt) + 60_000).toISOString()
    expect(ended).toMatchObject({ state: 'timed_out', startedAt: null, finishedAt, error: expect.stringMatching(/./) })
    expect(ended.can?.cancel).not.toBe(true)
    const [newest] = (await owner.fetch<TunnelActionPage>('GET', `/api/tunnels/${tunnel.id}/actions/history`)).body
      .items
    expect(newest).toMatchObject({ id: late.id, state: 'timed_out' })
    expect(await startAction(t.app, late.id)).toBe(false)
    await expireActions(t.app)
    expect(await get(owner, late)).toEqual(ended)
    const soon = (await ask(owner, { type: 'ping' }, 0, tunnel.id)).body
    const dropped = (await ask(owner, { type: 'ping' }, 0, tunnel.id)).body
    await ask(owner, { type: 'cancel', params: { actionId: dropped.id } }, 0, tunnel.id)
    const second = connect(machine)
    await until(async () => (await get(owner, soon)).state === 'succeeded')
    expect((await get(owner, dropped)).state).toBe('cancelled')
    second.agent.stop()
    await second.ended
  })

  test('continues an action after a lost connection, and has lost it after a restart', async () => {
    const { tunnel, machine } = await claimed()
    const first = connect(machine)
    await isOnline(tunnel.id)
    const running = (await ask(owner, sleeping, 0, tunnel.id)).body
    await until(async () => (await get(owner, running)).state === 'running')
    const ping = async () => (await ask(owner, { type: 'ping' }, 25, tunnel.id)).body.state
    // It is stored as running before it is sent. The machine has it when it has replied to what was sent after it.
    expect(await ping()).toBe('succeeded')
    t.app.tunnels.get(tunnel.id)?.session.close('cut', 4000)
    await until(() => (t.app.tunnels.get(tunnel.id)?.generation ?? 0) > 1)
    expect(await ping()).toBe('succeeded')
    expect((await get(owner, running)).state).toBe('running')
    // As if the machine was switched off: it cannot say that it ended the action.
    await t.app.driver.query(`update tunnel_actions set state = 'running', finished_at = null where id = $1`, [
      running.id,
    ])
    first.agent.stop()
    await first.ended
    await until(() => !t.app.tunnels.get(tunnel.id))
    await t.app.driver.query(`update tunnel_actions set state = 'running', finished_at = null where id = $1`, [
      running.id,
    ])
    const second = connect(machine)
    await until(async () => (await get(owner, running)).state === 'failed')
    second.agent.stop()
    await second.ended
  })
})

test('an action sent while the server stores the machine’s offer is not treated as lost', async () => {
  const { tunnel, machine } = await claimed()
  const { agent, ended } = connect(machine)
  await isOnline(tunnel.id)
  const running = (await ask(owner, sleeping, 0, tunnel.id)).body
  await until(async () => (await get(owner, running)).state === 'running')
  const connection = t.app.tunnels.get(tunnel.id)
  if (!connection) throw new Error('not connected')
  // As if the machine had said so before it got the action.
  Dispatcher.of(t.app).onConnected(connection, { ...connection.offer, running: [] })
  expect((await ask(owner, { type: 'ping' }, 25, tunnel.id)).body.state).toBe('succeeded')
  expect((await get(owner, running)).state).toBe('running')
  agent.stop()
  await ended
})

describe('a hostile machine', () => {
  /** Speaks the wire as it likes. */
  async function raw(machine: MachineConfig) {
    const headers = { authorization: `Bearer ${machine.token}` }
    const address = `${t.url.replace('http', 'ws')}/api/tunnels/reverse`
    const socket = new WebSocket(address, { headers, protocols: [SUBPROTOCOL] })
    socket.binaryType = 'arraybuffer'
    const session = new TunnelSession(
      'agent',
      { send: (bytes) => socket.send(bytes) !== undefined || true, close: () => socket.close() },
      {},
    )
    const closed = Promise.withResolvers<void>()
    socket.onmessage = ({ data }) => session.receive(new Uint8Array(data as ArrayBuffer))
    socket.onclose = () => closed.resolve()
    await new Promise((resolve) => {
      socket.onopen = resolve
    })
    session.settings(machineOffer(machine))
    return { session, socket, closed: closed.promise }
  }

  test('cannot report on others’ actions, nor report twice', async () => {
    const theirs = (await ask(owner, sleeping, 0)).body
    await until(async () => (await get(owner, theirs)).state === 'running')
    const { tunnel, machine } = await claimed()
    const evil = await raw(machine)
    await isOnline(tunnel.id)
    evil.session.result({ id: theirs.id, lines: [[1, 'forged']], state: 'succeeded', result: { forged: true } })
    const own = (await ask(owner, { type: 'ping' }, 0, tunnel.id)).body
    await until(async () => (await get(owner, own)).state === 'running')
    evil.session.result({ id: own.id, part: '{"not json' })
    evil.session.result({
      id: own.id,
      lines: [
        [1, 'a'],
        [1, 'again'],
        [3, 'c'],
      ],
      state: 'succeeded',
    })
    evil.session.result({ id: own.id, state: 'failed', error: 'later' })
    await until(async () => (await get(owner, own)).state === 'succeeded')
    expect(await get(owner, own)).toMatchObject({ output: 'a\nc', outputCut: true, result: null, error: null })
    expect(await get(owner, theirs)).toMatchObject({ state: 'running', output: '' })
    await ask(owner, { type: 'cancel', params: { actionId: theirs.id } })
    const odd = (await ask(owner, { type: 'ping' }, 0, tunnel.id)).body
    await until(async () => (await get(owner, odd)).state === 'running')
    const nasty = 'a\0b\ud800'
    evil.session.result({
      id: odd.id,
      lines: [[1, nasty]],
      result: { [nasty]: [nasty] },
      state: 'failed',
      error: nasty,
    })
    await until(async () => (await get(owner, odd)).state === 'failed')
    expect(await get(owner, odd)).toMatchObject({
      output: 'ab\ufffd',
      error: 'ab\ufffd',
      result: { 'ab\ufffd': ['ab\ufffd'] },
    })
    // What breaks the rules of the wire ends its connection, and no other.
    evil.session.result({ id: own.id, state: 'whatever' })
    await evil.closed
    expect((await ask(owner, { type: 'ping' })).body.state).toBe('succeeded')
  })

  test('can repeat its offer only up to a limit', async () => {
    const { tunnel, machine } = await claimed()
    const { session, closed } = await raw(machine)
    await until(() => t.app.tunnels.get(tunnel.id))
    for (let i = 1; i < MOST_OFFERS; i++) session.settings(machineOffer(machine))
    session.ping()
    await until(() => session.rttMs !== undefined)
    expect(session.isClosed).toBe(false)
    session.settings(machineOffer(machine))
    await closed
    await until(() => !t.app.tunnels.get(tunnel.id))
  })

  test('cannot stop the database with deeply nested values', async () => {
    const { tunnel, machine } = await claimed()
    const { session, socket } = await raw(machine)
    const deep = (levels: number): object => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
    const command = { name: 'deep', who: ['owner'], confirm: false, params: deep(6000) }
    await isOnline(tunnel.id)
    session.settings({ ...machineOffer(machine), commands: [command] })
    await until(async () =>
      (await t.app.driver.query('select offer::text from tunnel_sessions where tunnel_id = $1', [tunnel.id])).rows
        .flat()
        .some((text) => String(text).includes('deep')),
    )
    const own = (await ask(owner, { type: 'ping' }, 0, tunnel.id)).body
    await until(async () => (await get(owner, own)).state === 'running')
    session.result({ id: own.id, result: deep(6000), state: 'succeeded' })
    await until(async () => (await get(owner, own)).state === 'succeeded')
    socket.close()
  })
})

describe('the history of actions', () => {
  const historyOf = (who: Person) =>
    who.fetch<TunnelActionPage>('GET', `/api/tunnels/${box.tunnel.id}/actions/history?limit=200`)

  test('is complete for managers of the tunnel, and one’s own for others', async () => {
    const [whole, own] = [(await historyOf(owner)).body.items, (await historyOf(colleague)).body.items]
    expect(new Set(whole.map(({ caller }) => caller.id))).toEqual(new Set([owner.userId, colleague.userId]))
    expect(new Set(own.map(({ caller }) => caller.id))).toEqual(new Set([colleague.userId]))
    expect(JSON.stringify(whole)).not.toContain('hunter2')
    expect(whole[0]?.output).toBeUndefined()
    await expectRefusal(t, await historyOf(viewer), 403, 'forbidden')
    await expectRefusal(t, await historyOf(stranger), 404, 'not_found')
    // Older ones are neither listed nor kept.
    await t.app.driver.query(`update tunnel_actions set created_at = created_at - interval '91 days' where id = $1`, [
      own[0]?.id,
    ])
    expect((await historyOf(colleague)).body.items.map(({ id }) => id)).toEqual(own.slice(1).map(({ id }) => id))
    await purgeExpired(systemCtx(t), {})
    expect((await colleague.fetch('GET', `/api/tunnels/${box.tunnel.id}/actions/${own[0]?.id}`)).status).toBe(404)
    const foreign = whole.find(({ caller }) => caller.id === owner.userId) as TunnelAction
    expect((await colleague.fetch('GET', `/api/tunnels/${box.tunnel.id}/actions/${foreign.id}`)).status).toBe(404)
  })
})

describe('live output of actions', () => {
  /** Opens the hub as somebody and subscribes. */
  async function listening(who: Person, topics: string[]) {
    const { ticket } = (await who.fetch<{ ticket: string }>('POST', '/api/ws/ticket')).body
    const socket = new WebSocket(`${t.url.replace('http', 'ws')}/api/ws?ticket=${ticket}`)
    const heard: Record<string, unknown>[] = []
    socket.onmessage = ({ data }) => heard.push(JSON.parse(String(data)))
    await until(() => heard.some(({ op }) => op === 'hello'))
    const subscribe = (more: string[]) => socket.send(JSON.stringify({ op: 'subscribe', topics: more }))
    subscribe(topics)
    const subscribed = await until(() => heard.find(({ op }) => op === 'subscribed'))
    return { heard, subscribed, subscribe, close: () => socket.close() }
  }

  test('is sent line by line to the caller and to managers of the tunnel', async () => {
    const slow = (await ask(colleague, { type: 'run_command', params: { command: 'later' } }, 0)).body
    const topic = `record:${slow.id}`
    const [boss, caller, other] = await Promise.all([
      listening(owner, [topic, `record:${box.tunnel.id}`]),
      listening(colleague, [topic, `record:${box.tunnel.id}`]),
      listening(await member(t, owner, 'member'), [topic]),
    ])
    expect(boss.subscribed.topics).toEqual([topic, `record:${box.tunnel.id}`])
    expect(caller.subscribed.topics).toEqual([topic])
    expect(other.subscribed.topics).toEqual([])
    writeFileSync(join(folder, 'go'), '')
    for (const { heard } of [boss, caller]) {
      await until(() => heard.some(({ op, state }) => op === 'action' && state === 'succeeded'))
      expect(heard.filter(({ op }) => op === 'output').map(({ actionId, n, line }) => [actionId, n, line])).toEqual([
        [slow.id, 1, 'one'],
        [slow.id, 2, 'two'],
      ])
    }
    const other2 = (await ask(owner, greet())).body
    await until(() => boss.heard.some(({ actionId, state }) => actionId === other2.id && state === 'succeeded'))
    expect([...caller.heard, ...other.heard].some(({ actionId }) => actionId === other2.id)).toBe(false)
    expect(other.heard.some(({ op }) => op === 'output')).toBe(false)
    for (const each of [boss, caller, other]) each.close()
  })
})
