import type { CallToolResult, RequestId } from '@modelcontextprotocol/server'
import { AppError, problem, waysOutBy } from '../errors.ts'
import { hidesText, visibleText } from '../text/text.ts'
import type { Attribution } from './attribution.ts'
import { emptyContext, type Fields, isFields, type ResultContext, shortenResult } from './shorten-result.ts'
import type { Tool } from './tool.ts'

/** About 20,000 tokens; clients refuse or cut longer results. */
export const MOST_BYTES = 80_000

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')

/** The result of a call, as text and as structured facts: some clients show the model only one of the two. */
export interface ToolOutput {
  readonly isError?: true
  readonly text: string
  readonly facts: Fields
  /** The facts as JSON, so that they are serialized only once. */
  readonly json: string
}

export function toolSuccess(
  answer: unknown,
  tool: Tool,
  known: ResultContext = emptyContext,
  source?: Attribution,
): ToolOutput {
  const whole: Whole = new Map()
  const fields = isFields(answer)
    ? (shortenResult(answer, known) as Fields)
    : { result: shortenResult(answer, known) ?? null }
  const record = sizeOf(fields) <= MOST_BYTES ? fields : (trimValue(fields, '', whole) as Fields)
  let { facts, json } = visible(source ? { _source: source, ...record } : record)
  // A quick check that spares most results the exact count: a UTF-16 unit is at most three bytes.
  if (json.length * 3 > MOST_BYTES && Buffer.byteLength(json) > MOST_BYTES) {
    facts = cutToLimit(facts, whole, tool)
    json = JSON.stringify(facts)
  }
  return { text: textOf(facts) ?? json, facts, json }
}

/** Fields that hold lines of text, if they hold a list of texts. */
const lined = ['items', 'brief']

/** Returns the lines of a list or a brief as lines, below the other fields as JSON. Undefined for other results. */
function textOf(facts: Fields): string | undefined {
  if (typeof facts.result === 'string' && Object.keys(facts).length === 1) return facts.result
  for (const name of lined) {
    const lines = facts[name]
    if (!Array.isArray(lines) || lines.length === 0 || lines.some((line) => typeof line !== 'string')) continue
    const { [name]: _, ...rest } = facts
    return [JSON.stringify(rest), ...(lines as string[])].join('\n')
  }
  return undefined
}

interface FailedCall {
  readonly tool: string
  readonly requestId: string
  /** The names of the tools that the caller may use. */
  readonly usable: ReadonlySet<string>
  /** Whose text the error quotes. */
  readonly source?: Attribution
  /** What the caller may have meant by a reference to nothing. */
  readonly near?: readonly string[]
  /** How to correct the arguments, which were kept. */
  readonly kept?: string
}

/**
 * Returns an error as `code: reason. Next step.` The sentence already contains subject, scope and ways out; as fields
 * they would cost tokens twice. A caller of tools cannot use routes, so none is named.
 */
export function toolFailure(error: AppError, call: FailedCall): ToolOutput {
  const { tool, requestId, source } = call
  const next = [nextStep(error, call), call.kept].filter(Boolean).join(' ')
  const { errors, current, error: reason } = error.details
  const known = new AppError(error.code, next ? `${error.message} ${next}` : error.message, {
    errors,
    current,
    error: reason,
  })
  const problemFacts = shortenResult({ ...problem(known, `/mcp#${tool}`, requestId) }, emptyContext) as Fields
  const { facts, json } = visible(source ? { _source: source, ...problemFacts } : problemFacts)
  const sentence = `${error.code}: ${facts.detail}`
  const text = source ? `${sentence}\n${JSON.stringify({ _source: source })}` : sentence
  if (Buffer.byteLength(json) <= MOST_BYTES) return { isError: true, text, facts, json }
  const cut = cutToLimit(facts, new Map())
  return { isError: true, text, facts: cut, json: JSON.stringify(cut) }
}

export const toCallResult = ({ isError, text, facts }: ToolOutput): CallToolResult => ({
  ...(isError && { isError }),
  content: [{ type: 'text', text }],
  structuredContent: facts,
})

/** Returns the result as a JSON-RPC response. */
export const toRpcResponse = (id: RequestId, { isError, text, json }: ToolOutput): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${isError ? '"isError":true,' : ''}"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${json}}}`

/** Returns what a caller of tools can do about an error, if anything. */
function nextStep({ code, details }: AppError, { tool, requestId, usable, near = [] }: FailedCall): string | undefined {
  if (near.length > 0) return `Did you mean ${near.join(' or ')}?`
  const named = waysOutBy(details.next, 'tool')
  // The message itself says what to change in a call of the same tool.
  if (named.includes(tool)) return undefined
  const tools = named.filter((name) => usable.has(name))
  if (tools.length > 0) return `Use ${tools.join(' or ')}.`
  const pages = waysOutBy(details.next, 'page')
  if (pages.length > 0) return `Page: ${pages.join(' or ')}.`
  const commands = waysOutBy(details.next, 'command')
  if (commands.length > 0) return `A person can run: ${commands.join(' or ')}`
  if (code === 'internal') return `Call once more; if it fails again, report the request id ${requestId}.`
  if (details.scope) return 'Ask the owner of the token for one with that scope.'
  const lister = details.subject && listerOf(details.subject.kind)
  return lister && usable.has(lister) ? `Find the right one with ${lister}.` : undefined
}

const listerOf = (kind: string): string => `list_${kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : `${kind}s`}`

/** Returns a record as a model sees it. */
export const forModel = (record: Fields): Fields => visible(shortenResult(record, emptyContext) as Fields).facts

// ---- hidden characters

/** JSON.stringify escapes control characters, so one test of the JSON shows whether any text must be cleaned. */
const escaped = /\\(?:u00|[bf])/

function visible(value: Fields): { facts: Fields; json: string } {
  const json = JSON.stringify(value)
  if (!escaped.test(json) && !hidesText(json)) return { facts: value, json }
  const facts = cleanValue(value) as Fields
  return { facts, json: JSON.stringify(facts) }
}

function cleanValue(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value)
  if (Array.isArray(value)) return value.map(cleanValue)
  if (isFields(value)) return Object.fromEntries(Object.entries(value).map(([k, v]) => [visibleText(k), cleanValue(v)]))
  return value
}

// ---- results that are too long

/** Lengths of the texts and lists that `trimValue` has cut, by their place. */
type Whole = Map<string, number>

/**
 * Cuts texts and lists that are longer than any result may be. Cleaning and measuring read a value several times, and a
 * record may have megabytes. `shorten` cuts the rest.
 */
function trimValue(value: unknown, at: string, whole: Whole): unknown {
  if (typeof value === 'string') {
    if (value.length <= MOST_BYTES) return value
    whole.set(at, value.length)
    return value.slice(0, MOST_BYTES)
  }
  if (Array.isArray(value)) {
    let left = MOST_BYTES
    const end = value.findIndex((item) => {
      left -= sizeOf(item)
      return left < 0
    })
    const items = end < 0 ? value : value.slice(0, end + 1)
    if (items.length < value.length) whole.set(at, value.length)
    return items.map((item, i) => trimValue(item, `${at}.${i}`, whole))
  }
  if (!isFields(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, trimValue(field, at ? `${at}.${key}` : key, whole)]),
  )
}

/** Returns at most the number of bytes of the value as JSON. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 1
  let size = 1
  for (const name in value) size += sizeOf((value as Fields)[name])
  return size
}

interface Cut {
  at: string
  kept: number
  of: number
  unit: 'characters' | 'items'
}

/** Cuts every long part, and adds a note about what is missing and how to get it. */
function cutToLimit(value: Fields, whole: Whole, tool?: Tool): Fields {
  const found: Cut[] = []
  const kept = fitInto(value, MOST_BYTES - 1000, '', found) as Fields
  const cuts = found.map((cut) => ({ ...cut, of: whole.get(cut.at) ?? cut.of }))
  const listed = cuts.find((c) => c.at === 'items')
  // The cursor would skip the items that were left out.
  if (listed) delete kept.nextCursor
  const missing = cuts.slice(0, 10).map((c) => `${c.at}: the first ${c.kept} of ${c.of} ${c.unit}`)
  const how = listed
    ? `Call again with limit: ${Math.max(1, listed.kept)} and follow nextCursor.`
    : tool && 'offset' in tool.input.properties && cuts[0]
      ? `Call again with offset: ${cuts[0].kept} for more.`
      : 'The web API and the dashboard return all of it.'
  return { ...kept, truncated: `This result was too long and was cut. ${missing.join('; ')}. ${how}` }
}

/** Returns as much of the value as the budget allows: small fields whole, large ones share what is left. */
function fitInto(value: unknown, budget: number, at: string, cuts: Cut[]): unknown {
  if (bytesOf(value) <= budget) return value
  if (typeof value === 'string') {
    const text = beginning(value, budget)
    cuts.push({ at, kept: text.length, of: value.length, unit: 'characters' })
    return text
  }
  if (Array.isArray(value)) {
    const items: unknown[] = []
    let left = budget
    for (const item of value) {
      const size = bytesOf(item) + 1
      if (size > left) break
      items.push(item)
      left -= size
    }
    // If the first item alone is too long, its beginning is returned.
    if (items.length === 0 && value.length > 0) items.push(fitInto(value[0], budget - 2, `${at}.0`, cuts))
    if (items.length < value.length) cuts.push({ at, kept: items.length, of: value.length, unit: 'items' })
    return items
  }
  if (!isFields(value)) return value
  const sizes = Object.entries(value).map(([key, field]) => ({ key, field, size: bytesOf(field) + key.length + 4 }))
  const out: Fields = Object.fromEntries(sizes.map(({ key }) => [key, null]))
  let left = budget
  let open = sizes.length
  for (const { key, field, size } of sizes.sort((a, b) => a.size - b.size)) {
    const share = Math.floor(left / open--)
    out[key] = size <= share ? field : fitInto(field, share - key.length - 4, at ? `${at}.${key}` : key, cuts)
    left -= Math.min(size, share)
  }
  return out
}

function beginning(text: string, budget: number): string {
  let end = text.length
  for (let size = bytesOf(text); size > budget && end > 0; size = bytesOf(text.slice(0, end)))
    end = Math.min(end - 1, Math.floor((end * Math.max(budget, 0)) / size))
  const last = text.charCodeAt(end - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? end - 1 : end)
}
