import type { Feature } from '../../feature.ts'

export const links: Feature = {}
