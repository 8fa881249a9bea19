import type { Feature } from '../../feature.ts'

export const skills: Feature = {}
