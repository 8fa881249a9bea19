import type { Tunnel, TunnelClaimed, TunnelRegistered } from '../../src/features/tunnels/schema.ts'
import { TunnelAgent, type TunnelAgentOptions } from '../../src/tunnel/agent.ts'
import type { MachineConfig } from '../../src/tunnel/machine-config.ts'
import { call, type Person, type TestApp, unique } from '../support/app.ts'
import { until } from '../support/until.ts'

export interface ConnectedMachine {
  agent: TunnelAgent
  tunnel: Tunnel
  machine: MachineConfig
  /** Resolves with why the agent ended. */
  ended: Promise<'stopped' | 'refused'>
  stop(): Promise<void>
}

type Wanted = Pick<Partial<MachineConfig>, 'services' | 'commands' | 'mcp' | 'server'> & {
  access?: Tunnel['access']
  options?: Partial<TunnelAgentOptions>
}

/** Registers, claims and connects a machine, and waits until it is online. */
export async function connectMachine(
  t: TestApp,
  owner: Person,
  { services = {}, commands = {}, mcp = {}, server = t.url, access = 'private', options = {} }: Wanted,
): Promise<ConnectedMachine> {
  const body = { name: unique('Box'), access }
  const { nonce, tunnel } = (await owner.fetch<TunnelRegistered>('POST', '/api/tunnels/register', body)).body
  const about = { hostname: 'build-1', os: 'linux', architecture: 'x64', clientVersion: '1.0.0' }
  const claimed = await call<TunnelClaimed>(t, 'POST', '/api/tunnels/claim', { nonce, ...about })
  const machine: MachineConfig = { ...claimed.body, server, services, commands, mcp }
  const agent = new TunnelAgent({ machine, retryMs: [5, 20], ...options })
  const ended = agent.run()
  await until(async () => (await owner.fetch<Tunnel>('GET', `/api/tunnels/${tunnel.id}`)).body.status === 'online')
  return {
    agent,
    tunnel,
    machine,
    ended,
    stop: async () => {
      agent.stop()
      await ended
    },
  }
}
