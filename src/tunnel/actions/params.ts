import type { CommandParam } from '../machine-config.ts'
import { ActionFailure } from './action.ts'

type Params = Readonly<Record<string, CommandParam>>

/** Returns the argument of each given parameter; throws if one is missing, unknown or invalid. */
export function commandArguments(params: Params, given: Readonly<Record<string, unknown>>): Map<string, string> {
  for (const name of Object.keys(given))
    if (!Object.hasOwn(params, name)) throw new ActionFailure('refused', `There is no parameter ${name}.`)
  const found = new Map<string, string>()
  for (const [name, param] of Object.entries(params)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value !== undefined) found.set(name, argumentOf(name, param, value))
    else if (!param.optional) throw new ActionFailure('refused', `The parameter ${name} is missing.`)
  }
  return found
}

function argumentOf(name: string, param: CommandParam, value: unknown): string {
  const problem = problemOf(param, value)
  if (problem !== undefined) throw new ActionFailure('refused', `The parameter ${name} ${problem}.`)
  const text = String(value)
  // Programs read such arguments as options, which can run anything: `--upload-pack=…`.
  if (text.startsWith('-') && typeof value !== 'number' && !param.enum?.includes(text))
    throw new ActionFailure('refused', `The parameter ${name} must not begin with a hyphen.`)
  if (text.startsWith('-') && typeof value === 'number' && param.minimum === undefined)
    throw new ActionFailure('refused', `The parameter ${name} must not be negative.`)
  return text
}

function problemOf(param: CommandParam, value: unknown): string | undefined {
  if (param.type === 'boolean') return typeof value === 'boolean' ? undefined : 'must be true or false'
  if (param.type === 'integer') return integerProblem(param, value)
  if (typeof value !== 'string') return 'must be text'
  if (value.length > (param.maxLength ?? 1000)) return `is longer than ${param.maxLength ?? 1000} characters`
  if (value.includes('\0')) return 'has a character that arguments cannot have'
  if (param.enum && !param.enum.includes(value)) return `must be one of: ${param.enum.join(', ')}`
  if (param.pattern !== undefined && !new RegExp(`^(?:${param.pattern})$`, 'u').test(value))
    return `must match ${param.pattern}`
  return undefined
}

function integerProblem({ minimum, maximum }: CommandParam, value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return 'must be a whole number'
  if (minimum !== undefined && value < minimum) return `must be at least ${minimum}`
  if (maximum !== undefined && value > maximum) return `must be at most ${maximum}`
  return undefined
}
