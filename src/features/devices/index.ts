import type { Feature } from '../../feature.ts'

export const devices: Feature = {}
