import type { Source } from '../search/source.ts'
import { features } from './table.ts'

export const featureSource: Source = {
  kind: 'feature',
  table: features,
  title: features.title,
  text: features.description,
}
