import { contextOf } from '../../src/action.ts'
import type { ActionInput } from '../../src/features/tunnels/actions/action-schema.ts'
import { runAction } from '../../src/features/tunnels/actions/actions.ts'
import { endAction, startAction } from '../../src/features/tunnels/actions/dispatch.ts'
import { claimTunnel, registerTunnel } from '../../src/features/tunnels/joining.ts'
import { recordConnection, recordHeartbeat, storeOffer } from '../../src/features/tunnels/serving.ts'
import type { EndState, MachineOffer } from '../../src/tunnel/frames.ts'
import { paramsSchema } from '../../src/tunnel/machine-config.ts'
import { ago, type Moment, minutesAgo, type Step, type Who } from './script.ts'

/** What the build machine of the team offers. */
const offer: MachineOffer = {
  services: [
    { name: 'preview', who: ['members'] },
    { name: 'reports', who: ['owner'] },
  ],
  commands: [
    {
      name: 'deploy',
      description: 'Deploy a branch to the preview',
      who: ['members'],
      confirm: false,
      params: paramsSchema({
        branch: { type: 'string', maxLength: 100, description: 'A branch or a tag' },
        mode: { type: 'string', enum: ['--fast', '--clean'], optional: true },
      }),
    },
    {
      name: 'test',
      description: 'Run the tests of the reader',
      who: ['members'],
      confirm: false,
      params: paramsSchema({ runs: { type: 'integer', minimum: 1, maximum: 20, optional: true } }),
    },
    {
      name: 'release',
      description: 'Sign and publish a release',
      who: ['owner'],
      confirm: true,
      params: paramsSchema({}),
    },
  ],
  mcp: [{ name: 'database', who: ['members'] }],
  workspaces: [{ name: 'lantern', who: ['members'] }],
}

/** Ben's machine claims its tunnel and says what it offers. */
const joins: Step = {
  at: ago(12, '09:20'),
  by: 'ben',
  run: async (ctx, stage) => {
    const { nonce, tunnel } = await registerTunnel(ctx, {
      name: 'Build machine',
      slug: 'build-1',
      access: 'organization',
      labels: ['linux', 'ci'],
    })
    const about = { hostname: 'build-1.northlight.example', os: 'linux', architecture: 'x64', clientVersion: '1.0.0' }
    const { token } = await claimTunnel(await stage.as('nobody'), { nonce, ...about })
    stage.keep('tunnel', tunnel.id)
    stage.keep('tunnel token', token)
  },
}

const connects: Step = {
  at: minutesAgo(190),
  by: 'ben',
  run: async (_, { app, id }) => {
    const machine = await app.auth.authenticate(id('tunnel token'))
    const { generation } = await recordConnection(contextOf(app, machine), undefined)
    await storeOffer(app, { tunnelId: id('tunnel'), generation, offer })
  },
}

/** The last time that the machine was seen. */
const isSeen: Step = {
  at: minutesAgo(4),
  by: 'ben',
  run: async (_, { app, id }) => {
    const machine = contextOf(app, await app.auth.authenticate(id('tunnel token')))
    const services = offer.services.map(({ name }) => ({ name, ok: true }))
    await recordHeartbeat(machine, { generation: 1, rttMs: 14, services })
  },
}

interface Ending {
  state: EndState
  result?: unknown
  error?: string
  output?: string
}

/** An action from its request to its end. */
const acts = (minutes: number, by: Who, seconds: number, { type, params }: ActionInput, ending: Ending): Step[] => {
  const name = `action ${minutes}`
  const at = (later: number): Moment => minutesAgo(minutes - later / 60)
  return [
    {
      at: at(0),
      by,
      run: async (ctx, { app, id, keep }) => {
        const { id: actionId } = await runAction(ctx, { ref: id('tunnel'), type, params })
        keep(name, actionId)
        await startAction(app, actionId)
      },
    },
    {
      at: at(seconds),
      by,
      run: async (_, stage) => {
        await endAction(await stage.as('system'), { id: stage.id(name), ...ending })
      },
    },
  ]
}

const command = (name: string, params: Record<string, unknown> = {}): ActionInput => ({
  type: 'run_command',
  params: { command: name, params },
})
const done = (output: string): Ending => ({ state: 'succeeded', result: { exitCode: 0, signal: null }, output })

export const tunnelSteps: Step[] = [
  joins,
  connects,
  isSeen,
  ...acts(
    170,
    'ben',
    4,
    { type: 'sync_workspace', params: { workspace: 'lantern' } },
    {
      state: 'succeeded',
      result: { before: 'b7e4019', after: '8f2c1d0' },
    },
  ),
  ...acts(168, 'ben', 74, command('test'), done('206 tests in 71 s\n206 pass, 0 fail')),
  ...acts(96, 'chiara', 31, command('deploy', { branch: 'shelf-colours' }), {
    state: 'failed',
    result: { exitCode: 1, signal: null },
    error: 'Ended with exit code 1.',
    output: 'Building shelf-colours\nerror: the theme names a colour that does not exist: --shelf-warm',
  }),
  ...acts(88, 'chiara', 36, command('deploy', { branch: 'shelf-colours', mode: '--clean' }), {
    ...done('Building shelf-colours\n412 files, 3.1 MB\nThe preview is at /shelf-colours'),
  }),
  ...acts(21, 'ada', 1, { type: 'ping', params: {} }, { state: 'succeeded', result: { at: 'just now' } }),
  ...acts(17, 'ada', 42, command('deploy', { branch: 'main' }), {
    ...done('Building main\n418 files, 3.1 MB\nThe preview is at /main'),
  }),
]
