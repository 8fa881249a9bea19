import type { Feature } from '../../feature.ts'

export const workflow: Feature = {}
