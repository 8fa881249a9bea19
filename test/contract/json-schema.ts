/**
 * A second opinion on the answers: a small JSON Schema check that knows nothing of TypeBox and reads only the published document.
 * It refuses keywords it does not know, so a schema cannot promise something that is never looked at.
 */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
type Schema = Record<string, Json>

const silent = new Set(['description', 'examples', 'default', 'title', 'contentMediaType'])
const formats: Record<string, RegExp> = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  'date-or-time': /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?$/,
  'time-or-offset': /^(-\d{1,4}[hdw]|\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?)$/,
  email: /^[^\s@]+@[^\s@]+$/,
  url: /^https?:\/\/\S+$/,
}

const typeOf = (value: Json): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)
const fields = (value: Json): Record<string, Json> | undefined =>
  typeOf(value) === 'object' ? (value as Record<string, Json>) : undefined

/** What is wrong with the value, as `path: reason`; undefined when nothing is. */
export function mismatch(schema: Json, value: Json, document: Json, at = ''): string | undefined {
  const s = schema as Schema
  const object = fields(value)
  const text = typeof value === 'string' ? value : undefined
  const list = Array.isArray(value) ? value : undefined
  const no = (reason: string) => `${at || '/'}: ${reason}, got ${JSON.stringify(value)?.slice(0, 80)}`
  for (const [keyword, rule] of Object.entries(s)) {
    const n = rule as number
    switch (keyword) {
      case '$ref': {
        const wrong = mismatch(resolve(document, rule as string), value, document, at)
        if (wrong) return wrong
        break
      }
      case 'type':
        if (rule === 'integer' ? !Number.isInteger(value) : typeOf(value) !== rule) return no(`should be ${rule}`)
        break
      case 'anyOf':
        if ((rule as Json[]).every((option) => mismatch(option, value, document, at)))
          return no('fits none of the alternatives')
        break
      case 'enum':
        if (!(rule as Json[]).includes(value)) return no(`should be one of ${JSON.stringify(rule)}`)
        break
      case 'const':
        if (value !== rule) return no(`should be ${JSON.stringify(rule)}`)
        break
      case 'required':
        for (const name of rule as string[]) if (object && !(name in object)) return no(`lacks ${name}`)
        break
      case 'additionalProperties': {
        const known = new Set(Object.keys((s.properties ?? {}) as object))
        const extra = Object.keys(object ?? {}).find((name) => !known.has(name))
        if (rule === false && extra) return no(`should not have ${extra}`)
        break
      }
      case 'properties':
        for (const [name, inner] of Object.entries(rule as Schema)) {
          const wrong =
            object && name in object ? mismatch(inner, object[name] as Json, document, `${at}/${name}`) : undefined
          if (wrong) return wrong
        }
        break
      case 'patternProperties':
        for (const [pattern, inner] of Object.entries(rule as Schema))
          for (const [name, field] of Object.entries(object ?? {})) {
            const wrong = new RegExp(pattern).test(name) ? mismatch(inner, field, document, `${at}/${name}`) : undefined
            if (wrong) return wrong
          }
        break
      case 'items':
        for (const [index, item] of (list ?? []).entries()) {
          const wrong = mismatch(rule as Json, item, document, `${at}/${index}`)
          if (wrong) return wrong
        }
        break
      case 'minItems':
        if (list && list.length < n) return no(`has fewer than ${n} items`)
        break
      case 'maxItems':
        if (list && list.length > n) return no(`has more than ${n} items`)
        break
      case 'uniqueItems':
        if (rule && list && new Set(list.map((i) => JSON.stringify(i))).size < list.length) return no('has equal items')
        break
      case 'minLength':
        if (text !== undefined && text.length < n) return no('is too short')
        break
      case 'maxLength':
        if (text !== undefined && text.length > n) return no('is too long')
        break
      case 'pattern':
        if (text !== undefined && !new RegExp(rule as string).test(text)) return no(`should match ${rule}`)
        break
      case 'format': {
        const pattern = formats[rule as string]
        if (!pattern) throw new Error(`test/contract/json-schema.ts does not know the format ${rule}`)
        if (text !== undefined && !pattern.test(text)) return no(`should be a ${rule}`)
        break
      }
      case 'minimum':
        if (typeof value === 'number' && value < n) return no(`is below ${n}`)
        break
      case 'maximum':
        if (typeof value === 'number' && value > n) return no(`is above ${n}`)
        break
      case 'multipleOf':
        if (typeof value === 'number' && value % n !== 0) return no(`is no multiple of ${n}`)
        break
      default:
        if (!silent.has(keyword))
          throw new Error(`test/contract/json-schema.ts does not know the keyword ${keyword} at ${at || '/'}`)
    }
  }
  return undefined
}

export function resolve(document: Json, ref: string): Json {
  const found = ref
    .replace(/^#\//, '')
    .split('/')
    .reduce<Json | undefined>((node, name) => (node as Record<string, Json> | undefined)?.[name], document)
  if (found === undefined) throw new Error(`${ref} points nowhere`)
  return found
}
