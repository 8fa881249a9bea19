import type { TunnelAction } from '../../../features/tunnels/actions/action-schema.ts'
import { agoLabel } from '../../lib/times.ts'

export const words = {
  tunnels: 'Machines',
  facts: {
    since: 'Connected',
    rtt: 'Round trip',
    requests: 'Requests, 24 h',
    bytes: 'Traffic, 24 h',
    version: 'Program',
  },
  since: agoLabel,
  ms: (ms: number) => (ms < 1000 ? `${ms} ms` : `${Number((ms / 1000).toPrecision(2))} s`),
  services: 'Services',
  servers: 'MCP servers for agents',
  actions: 'Actions',
  actionsAbout: 'Actions that the machine allows. Its owner configures them in tunnel.json.',
  names: {
    ping: 'Ping',
    check_local: 'Check services',
    list_tools: 'List tools',
    call_tool: 'Call a tool',
    sync_workspace: 'Sync a workspace',
    cancel: 'Cancel',
    run_command: 'Run a command',
  } satisfies Record<TunnelAction['type'], string>,
  run: 'Run',
  asks: 'needs confirmation on the machine',
  choose: 'any',
  notJson: 'Write a JSON object.',
  cancel: 'Cancel',
  output: 'Output',
  noOutput: 'No output yet.',
  cut: 'The beginning of the output is missing.',
  result: 'Result',
  history: 'History',
  historyAbout: 'The last 90 days. Passwords and other secrets are not shown.',
  noHistory: 'No actions have been run yet.',
  show: (name: string) => `Show ${name}`,
  requests: 'Requests',
  requestsAbout: 'The latest requests through this tunnel, live.',
  noRequests: 'No requests yet.',
  anyone: 'anyone',
  states: {
    queued: 'queued',
    awaiting_confirmation: 'waiting for confirmation on the machine',
    running: 'running',
    succeeded: 'done',
    failed: 'failed',
    refused: 'refused',
    cancelled: 'cancelled',
    timed_out: 'timed out',
  } satisfies Record<TunnelAction['state'], string>,
  failed: 'Failed',
} as const

export const actionName = ({ type, name }: Pick<TunnelAction, 'type' | 'name'>): string =>
  type === 'run_command' && name ? name : name ? `${words.names[type]}: ${name}` : words.names[type]
