import type { Feature } from '../../feature.ts'

export const agents: Feature = {}
