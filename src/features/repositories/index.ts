import type { Feature } from '../../feature.ts'

export const repositories: Feature = {}
