import type { Feature } from '../../feature.ts'

export const admin: Feature = {}
