import type { Feature } from '../../feature.ts'

export const issues: Feature = {}
