import type { Feature } from '../../feature.ts'

export const teams: Feature = {}
