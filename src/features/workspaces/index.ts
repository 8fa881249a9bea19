import type { Feature } from '../../feature.ts'

export const workspaces: Feature = {}
