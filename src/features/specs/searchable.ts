import type { Source } from '../search/source.ts'
import { specs } from './table.ts'

export const specSource: Source = { kind: 'spec', table: specs, title: specs.title, text: specs.content }
