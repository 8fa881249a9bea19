import type { Feature } from '../../feature.ts'

export const invites: Feature = {}
