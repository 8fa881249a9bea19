import type { Feature } from '../../feature.ts'

export const uploads: Feature = {}
