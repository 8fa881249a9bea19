import type { Feature } from '../../feature.ts'

export const notifications: Feature = {}
