import { secretForms } from './text/secrets.ts'

/**
 * Structured lines on stderr: JSON, or short text on a terminal. Secrets should never be logged; anything that looks
 * like one is masked anyway.
 */
export interface Log {
  debug(message: string, fields?: object): void
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
  error(message: string, fields?: object): void
}

const levels = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof levels)[number]

const secretName = /pass(word)?|secret|token|authorization|cookie|api_?key|hash$/i
/** Also secrets in addresses. */
const secretText = new RegExp(
  [...secretForms, /([?&](?:token|code|ticket)=)[^&\s"]+/, /(:\/\/[^:/\s]+:)[^@/\s]+@/]
    .map((pattern) => pattern.source)
    .join('|'),
  'g',
)

const mask = (text: string): string =>
  text.replace(secretText, (_all, query?: string, url?: string) =>
    query ? `${query}[redacted]` : url ? `${url}[redacted]@` : '[redacted]',
  )

function clean(name: string, value: unknown): unknown {
  if (value instanceof Error) {
    const { code, cause } = value as { code?: unknown; cause?: unknown }
    return {
      message: mask(value.message),
      code,
      stack: mask(value.stack ?? ''),
      ...(cause ? { cause: clean('cause', cause) } : {}),
    }
  }
  // A number is no secret: `oneTimeSecrets: 12` says how many rows were removed.
  if (name && secretName.test(name) && value !== null && !['undefined', 'number', 'boolean'].includes(typeof value))
    return '[redacted]'
  return typeof value === 'string' ? mask(value) : value
}

export function createLog(
  level: Level,
  write: (line: string) => void = (line) => process.stderr.write(line),
  pretty = process.stderr.isTTY,
): Log {
  const least = levels.indexOf(level)
  const at =
    (l: Level) =>
    (message: string, fields: object = {}) => {
      if (levels.indexOf(l) < least) return
      const now = new Date().toISOString()
      if (pretty) {
        const rest = Object.entries(fields).map(([k, v]) => `${k}=${JSON.stringify(clean(k, v), clean)}`)
        return write(`${now.slice(11, 19)} ${l.padEnd(5)} ${mask(message)}${rest.length ? ` ${rest.join(' ')}` : ''}\n`)
      }
      write(`${JSON.stringify({ time: now, level: l, message: mask(message), ...fields }, clean)}\n`)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
