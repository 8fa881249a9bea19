/**
 * Reads a refusal as a program would that knows nothing else: it has the refused call, the text of the refusal and what
 * the agent wanted to say, and builds the next call. What it cannot read there, an agent would have to guess.
 */
export type Args = Record<string, unknown>
export interface Call {
  tool: string
  args: Args
}

interface Refused extends Call {
  text: string
  /** Values that the agent can give when it is asked for them. */
  knows: Args
}

interface Rule {
  pattern: RegExp
  next(found: RegExpExecArray, refused: Refused): Call
}

/** Rules for one argument each. A refusal may name several. */
const corrections: { pattern: RegExp; correct(found: RegExpExecArray, args: Args, knows: Args): Args }[] = [
  {
    pattern: /(\w+) is not an argument of \w+\. Did you mean (\w+)\?/g,
    correct: ([, given = '', meant = ''], { [given]: value, ...rest }) => ({ ...rest, [meant]: value }),
  },
  {
    pattern: /(\w+) is (?:not an argument of \w+, which|an argument of [\w ]+\. \w+) takes: [\w, ]+\./g,
    correct: ([, given = ''], { [given]: _, ...rest }) => rest,
  },
  {
    pattern: /(\w+) must be one of: ([\w, ]+)\./g,
    correct: ([, name = '', allowed = ''], args) => ({ ...args, [name]: nearest(args[name], allowed.split(', ')) }),
  },
  {
    pattern: /(\w+) must be of type (\w+)\./g,
    correct: ([, name = '', type = ''], args, knows) => ({ ...args, [name]: knows[name] ?? convert(args[name], type) }),
  },
  {
    pattern: /(\w+) must be at (?:most|least) ([\d.]+)\./g,
    correct: ([, name = '', limit], args) => ({ ...args, [name]: Number(limit) }),
  },
  {
    pattern: /(\w+) is not a valid date or time, such as \S+/g,
    correct: ([, name = ''], args, knows) => ({ ...args, [name]: knows[name] }),
  },
  {
    pattern: /(?<!\.)\b(\w+) is required\./g,
    correct: ([, name = ''], args, knows) => (name in args ? args : { ...args, [name]: knows[name] }),
  },
  {
    pattern: /Send (\w+) for one, or \w+ for several\./g,
    correct: ([, name = ''], args, knows) => ({ ...args, [name]: knows[name] }),
  },
  {
    pattern: /Specify the project, for example by its key: (\w+)/g,
    correct: ([, project], args) => ({ ...args, project }),
  },
]

/** Rules for a whole call, in this order. */
const rules: Rule[] = [
  {
    pattern: /Unknown tool: \w+\. Did you mean (\w+)\?/,
    next: ([, tool = ''], { args }) => ({ tool, args }),
  },
  {
    pattern: /Task ([A-Z]+)-\d+ not found in (?:that project|[A-Z]+)\./,
    next: ([, project], { tool, args }) => ({ tool, args: { ...args, project } }),
  },
  {
    pattern: /Task (\S+)-(\d+) not found\. Did you mean a task of (\w+)\?/,
    next: ([, project, number, meant], refused) => replace(refused, `${project}-${number}`, `${meant}-${number}`),
  },
  {
    pattern: /Task (\S+) not found\. Nearest: (\S+) «/,
    next: ([, given = '', meant = ''], refused) => replace(refused, given, meant),
  },
  {
    pattern: /\w+ (\S+) not found\. Did you mean ([\w-]+)/,
    next: ([, given = '', meant = ''], refused) => replace(refused, given, meant),
  },
  {
    pattern: /not found\. Find the right one with (\w+)\./,
    next: ([, tool = '']) => ({ tool, args: {} }),
  },
  {
    pattern: /Send accepted with .*"(\w+)"/,
    next: ([, accepted], { tool, args }) => ({ tool, args: { ...args, accepted } }),
  },
  {
    pattern: /Complete ([A-Z]+-\d+) first/,
    next: ([, task], { tool, args }) => ({ tool, args: { ...args, task } }),
  },
  {
    pattern: /is now at version (\d+)/,
    next: ([, version], { tool, args }) => ({ tool, args: { ...args, expectedVersion: Number(version) } }),
  },
  {
    pattern: /Use a new key\./,
    next: (_, { tool, args }) => ({ tool, args: { ...args, idempotencyKey: `${args.idempotencyKey}-again` } }),
  },
  {
    pattern: /Start again without a cursor\./,
    next: (_, { tool, args: { cursor: _cursor, ...args } }) => ({ tool, args }),
  },
  {
    pattern: /Claim it again\./,
    next: (_, { tool, args: { action: _action, ...args } }) => ({ tool, args }),
  },
  {
    pattern: /is not a task of that project\./,
    next: (_, { tool, args: { project: _project, ...args } }) => ({ tool, args }),
  },
  {
    pattern: /Restore it first\. Use (\w+)\./,
    next: ([, tool = ''], { args: { project } }) => ({ tool, args: { project, restore: true } }),
  },
  {
    pattern: /Use (\w+)(?: or \w+)*\.$/m,
    next: ([, tool = ''], { args: { task, session } }) => ({
      tool,
      args: tool === 'claim_task' ? { task } : tool === 'resume_session' ? { session } : {},
    }),
  },
]

/** Returns the call that the refusal asks for, or undefined if it does not say what to do. */
export function readRefusal(refused: Refused): Call | undefined {
  const { tool, text, knows } = refused
  const found = corrections.flatMap(({ pattern, correct }) =>
    [...text.matchAll(pattern)].map((match) => (args: Args) => correct(match as RegExpExecArray, args, knows)),
  )
  if (found.length > 0) return { tool, args: found.reduce((args, correct) => correct(args), refused.args) }
  for (const { pattern, next } of rules) {
    const match = pattern.exec(text)
    if (match) return next(match, refused)
  }
  return undefined
}

/** Replaces a reference wherever the refused call has it. */
const replace = ({ tool, args }: Refused, given: string, meant: string): Call => ({
  tool,
  args: JSON.parse(JSON.stringify(args).replaceAll(`"${given}"`, `"${meant}"`)) as Args,
})

/** Returns the allowed value that shares the most letters with the given one at its beginning or end. */
function nearest(value: unknown, allowed: readonly string[]): string | undefined {
  const letters = (text: string) => new Set(text.toLowerCase())
  const common = (text: string) => letters(String(value)).intersection(letters(text)).size
  return allowed.toSorted((a, b) => common(b) - common(a))[0]
}

function convert(value: unknown, type: string): unknown {
  if (type === 'array') return [value]
  if (type === 'boolean') return true
  return type === 'string' ? String(value) : Number.parseFloat(String(value))
}
