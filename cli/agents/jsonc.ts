/** Changes JSON with comments as text, so that whatever is not touched stays as somebody wrote it. */

export type Key = string | number

interface Token {
  text: string
  start: number
  end: number
}

const TOKEN = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|[{}[\],:]|[^\s{}[\],:"/]+/g

/** Puts a value where the keys lead, in the place of what is there, else behind what is. The text must be one that can be parsed. */
export function put(text: string, path: readonly Key[], value: unknown): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const unit = /^[ \t]+(?=[^\s/*])/m.exec(text)?.[0] ?? '  '
  const written = (what: unknown, indent: string) => JSON.stringify(what, null, unit).replaceAll('\n', eol + indent)
  if (!text.trim()) return written(nest(path, value), '') + eol

  const tokens = [...text.matchAll(TOKEN)]
    .filter(([found]) => !found.startsWith('/'))
    .map(({ 0: found, index }): Token => ({ text: found, start: index, end: index + found.length }))
  let open = 0
  for (const [depth, key] of path.entries()) {
    const { members, close } = container(tokens, open)
    const found = members.findLast((member) => member.key === key)
    if (found && depth < path.length - 1 && /^[{[]$/.test((tokens[found.value] as Token).text)) {
      open = found.value
      continue
    }
    const rest = nest(path.slice(depth + 1), value)
    if (found) return text.slice(0, found.start) + written(rest, indentAt(text, found.start)) + text.slice(found.end)

    const [first, last, end] = [members[0], members.at(-1), (tokens[close] as Token).start]
    const outer = indentAt(text, (tokens[open] as Token).start)
    const indent =
      first && text.slice(0, first.from).endsWith(`\n${indentAt(text, first.from)}`)
        ? indentAt(text, first.from)
        : outer + unit
    const member = `${typeof key === 'string' ? `${JSON.stringify(key)}: ` : ''}${written(rest, indent)}`
    const trailing = last && (tokens[close - 1] as Token).text === ','
    // Behind a comment that follows the last one.
    const behind = text.slice(0, end).trimEnd().length
    const before = last
      ? text.slice(0, last.end) + (trailing ? '' : ',') + text.slice(last.end, behind)
      : text.slice(0, behind)
    const after = text.slice(behind, end).includes('\n') ? text.slice(behind) : eol + outer + text.slice(end)
    return before + eol + indent + member + (trailing ? ',' : '') + after
  }
  return text
}

/** What `put` makes of it, as a value. */
export function withValue(before: unknown, [key, ...rest]: readonly Key[], value: unknown): unknown {
  if (key === undefined) return value
  if (typeof key === 'number') {
    const list = Array.isArray(before) ? [...before] : []
    list[key] = withValue(list[key], rest, value)
    return list
  }
  const object = before !== null && typeof before === 'object' && !Array.isArray(before) ? before : {}
  return { ...object, [key]: withValue((object as Record<string, unknown>)[key], rest, value) }
}

const nest = (path: readonly Key[], value: unknown): unknown =>
  path.reduceRight((inner: unknown, key) => (typeof key === 'number' ? [inner] : { [key]: inner }), value)

/** Of the line that a place is on. */
const indentAt = (text: string, place: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', place - 1) + 1))?.[0] ?? ''

interface Member {
  key: Key
  /** Where it begins: at its name, if it has one. */
  from: number
  /** The first token of its value. */
  value: number
  start: number
  end: number
}

function container(tokens: Token[], open: number): { members: Member[]; close: number } {
  const token = (i: number) => tokens[i] as Token
  const list = token(open).text === '['
  const members: Member[] = []
  let i = open + 1
  while (!/^[}\]]$/.test(token(i).text)) {
    const value = list ? i : i + 2
    const key = list ? members.length : (JSON.parse(token(i).text) as string)
    let depth = 0
    let last = value
    for (; ; last++) {
      if (/^[{[]$/.test(token(last).text)) depth++
      else if (/^[}\]]$/.test(token(last).text)) depth--
      if (depth === 0) break
    }
    members.push({ key, from: token(i).start, value, start: token(value).start, end: token(last).end })
    i = token(last + 1).text === ',' ? last + 2 : last + 1
  }
  return { members, close: i }
}
