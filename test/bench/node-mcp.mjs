/** The usual tutorial: Node + Express + the official MCP SDK over SSE, with one tool that runs the same statements on the same Postgres, without checking anybody's token. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import express from 'express'
import pg from 'pg'
import * as z from 'zod'

const statements = JSON.parse(process.argv[2])
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const run = (i) => pool.query({ name: `s${i}`, text: statements[i].text, values: statements[i].params })
const sessions = new Map()
const app = express()

app.get('/mcp/sse', async (_request, response) => {
  const transport = new SSEServerTransport('/mcp/messages', response)
  sessions.set(transport.sessionId, transport)
  response.on('close', () => sessions.delete(transport.sessionId))
  const server = new McpServer({ name: 'baseline', version: '1.0.0' })
  server.registerTool('get_task', { description: 'Read a task.', inputSchema: { task: z.string() } }, async () => {
    const found = []
    for (let i = 0; i < statements.length; i++) found.push((await run(i)).rows)
    const [[task], ...related] = found
    const answer = { ...task, related }
    return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer }
  })
  await server.connect(transport)
})
app.post('/mcp/messages', async (request, response) => {
  const transport = sessions.get(request.query.sessionId)
  if (!transport) return response.status(404).end()
  await transport.handlePostMessage(request, response)
})
const listening = app.listen(0, '127.0.0.1', () => console.log(` is at http://127.0.0.1:${listening.address().port}`))
process.on('SIGTERM', () => process.exit(0))
