import { defineEvent, number, text, texts } from '../../events/catalogue.ts'
import { optional } from '../../schema.ts'

const ofSpec = { kind: 'spec', live: true, line: 'note' } as const
const specData = { title: text, status: text, version: number } as const

export const specCreated = defineEvent('spec.created', { ...ofSpec, description: 'A spec was created', data: specData })
export const specUpdated = defineEvent('spec.updated', {
  ...ofSpec,
  description: 'A spec has a new version; `from` is its status before',
  data: { ...specData, fields: texts, from: optional(text) },
})
