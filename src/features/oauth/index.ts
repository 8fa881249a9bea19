import type { Feature } from '../../feature.ts'

export const oauth: Feature = {}
