import type { MachineConfig } from '../../../src/tunnel/machine-config.ts'
import { safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'

export type Services = MachineConfig['services']
export type McpServers = NonNullable<MachineConfig['mcp']>

/** `web=3000`, `api=http://127.0.0.1:8080` or `db=unix:/run/db.sock`. */
export function parseService(text: string, who: string[] | undefined): Services {
  const { name, value } = parseEntry(text, 'a service. Write a name and a port: web=3000')
  const url = /^\d{1,5}$/.test(value) ? `http://127.0.0.1:${value}` : value.replace(/\/$/, '')
  return { [name]: { url, ...(who && { who }) } }
}

/** `fs='npx -y some-server /srv'`, or `db=http://127.0.0.1:3001/mcp`. */
export function parseMcpServer(text: string, who: string[] | undefined, tools?: string[]): McpServers {
  const { name, value } = parseEntry(text, "an MCP server. Write a name and a command: fs='npx -y some-server /srv'")
  const way = /^https?:/.test(value) ? { url: value } : { argv: splitWords(value) }
  return { [name]: { ...way, ...(tools && { tools }), ...(who && { who }) } }
}

function parseEntry(text: string, expected: string): { name: string; value: string } {
  const [, name, value] = /^([a-z0-9]+(?:-[a-z0-9]+)*)=(.+)$/s.exec(text) ?? []
  if (!name || !value) throw new Refusal(`${safeLine(text).slice(0, 60)} is not ${expected}`)
  return { name, value }
}

/** Splits a command into words as a shell does, with quotes and backslashes only: no shell runs. */
function splitWords(command: string): string[] {
  const words: string[] = []
  const pattern = /\s*((?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+)/gy
  let at = 0
  for (const match of command.matchAll(pattern)) {
    at = match.index + match[0].length
    words.push(
      (match[1] as string).replace(
        /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs,
        (_, single?: string, double?: string, escaped?: string) =>
          single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? '',
      ),
    )
  }
  if (command.slice(at).trim() !== '' || words.length === 0)
    throw new Refusal(`A quote is not closed in this command: ${safeLine(command).slice(0, 80)}`)
  return words
}
