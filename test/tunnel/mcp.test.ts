import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { ToolFilter } from '../../src/tunnel/mcp/filter.ts'
import type { RpcMessage } from '../../src/tunnel/mcp/message.ts'
import { McpSession } from '../../src/tunnel/mcp/session.ts'
import { until } from '../support/until.ts'

const request = (id: number, method: string, params = {}): RpcMessage => ({ jsonrpc: '2.0', id, method, params })

test('a list of tools contains only allowed tools, whichever request it claims to answer', () => {
  const filter = new ToolFilter(['echo'])
  const listed = { tools: [{ name: 'echo' }, { name: 'secret' }, null], nextCursor: 'x' }
  for (const id of [1, 1, 'never asked'])
    expect(filter.filterReply({ jsonrpc: '2.0', id, result: listed }).result).toEqual({
      tools: [{ name: 'echo' }],
      nextCursor: 'x',
    })
  const introduced = { capabilities: { tools: {}, resources: {} } }
  expect(filter.filterReply({ jsonrpc: '2.0', id: 1, result: introduced }).result).toEqual({
    capabilities: { tools: {} },
  })
  const open = new ToolFilter(undefined)
  expect(open.filterReply({ jsonrpc: '2.0', id: 1, result: listed }).result).toEqual(listed)
})

test('a second request with the id of a running one is refused, and the first gets its response', async () => {
  const argv = [process.execPath, join(import.meta.dir, 'mcp-server.ts')]
  const session = new McpSession('local', 'somebody', { argv, tools: ['echo'] }, () => performance.now())
  const [first, second]: [RpcMessage[], RpcMessage[]] = [[], []]
  session.send(request(1, 'tools/list'), (message) => void first.push(message))
  session.send(request(1, 'tools/call', { name: 'echo' }), (message) => void second.push(message))
  expect(second).toMatchObject([{ id: 1, error: { code: -32_600 } }])
  await until(() => first.length > 0)
  expect(first).toMatchObject([{ id: 1, result: { tools: [{ name: 'echo' }] } }])
  // Now the id is free again.
  session.send(request(1, 'tools/call', { name: 'echo' }), (message) => void second.push(message))
  await until(() => second.length > 1)
  expect(second[1]?.result).toHaveProperty('content')
  session.kill()
})
