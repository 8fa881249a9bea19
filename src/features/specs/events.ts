import { define, number, text, texts } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

const ofSpec = { kind: 'spec', live: true, line: 'note' } as const
const shown = { title: text, status: text, version: number } as const

export const specCreated = define('spec.created', { ...ofSpec, description: 'A spec was created', data: shown })
export const specUpdated = define('spec.updated', {
  ...ofSpec,
  description: 'A spec has a new version; `from` is its status before',
  data: { ...shown, fields: texts, from: optional(text) },
})
