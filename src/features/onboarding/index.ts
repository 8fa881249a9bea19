import type { Feature } from '../../feature.ts'

export const onboarding: Feature = {}
