import type { Feature } from '../../feature.ts'

export const passkeys: Feature = {}
