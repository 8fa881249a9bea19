import type { Feature } from '../../feature.ts'

export const search: Feature = {}
