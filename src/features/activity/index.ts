import type { Feature } from '../../feature.ts'

export const activity: Feature = {}
