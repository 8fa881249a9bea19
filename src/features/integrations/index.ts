import type { Feature } from '../../feature.ts'

export const integrations: Feature = {}
